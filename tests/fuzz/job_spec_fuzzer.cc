// A job's spec, as a request brings it.

#include "common/job/job_plan.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {
      MessageSeed<v1::JobSpec>("model: 'lenet5' data: 'mnist:/data'"),
      MessageSeed<v1::JobSpec>(R"(
        model: 'resnet20' data: 'synthetic:tiny' paradigm: 'ssp:s=3'
        optimizer: 'adam:beta1=0.9' learning_rate: 0.005
        schedule: 'step:at=0.5,factor=0.1' batch_size: 32 micro_batch: 8
        batching: 'balanced' wire: BF16 round_strength: 'sqrt' seed: 7
        switches { samples: 1000 paradigm: 'cgp' }
        switches { samples: 2000 paradigm: 'asp' }
        workers { pools: 'a' gpu_models: 'x' min: 1 max: 4 } servers: 2
        stop { epochs: 3 samples: 9 seconds: 1.5 target_accuracy: 0.9
               target_loss: 0.1 at_target: true }
        evaluation { every: 100 defer: false }
        checkpoints { interval { seconds: 60 nanos: 1 } keep: 3 })"),
      MessageSeed<v1::JobSpec>(
          "model: 'mlp' data: 'x:y' learning_rate: nan batch_size: 4294967295 "
          "checkpoints { interval { seconds: -1 nanos: -5 } }")};
}

void FuzzOne(absl::string_view input) {
  const auto spec = ParseMessage<v1::JobSpec>(input);
  if (!spec.has_value()) return;
  const auto plan = ParseJob(*spec);
  ExpectInvalidFields(plan.status());
  if (!plan.ok()) return;
  // Nothing is left to complete.
  const auto again = ParseJob(plan->spec);
  CHECK(again.ok() && BytesOf(again->spec) == BytesOf(plan->spec));
}

}  // namespace paceline
