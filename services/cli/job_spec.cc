#include "services/cli/job_spec.h"

#include "common/check.h"
#include "google/protobuf/util/json_util.h"
#include "services/cli/job_flags.h"

namespace paceline {
namespace {

v1::WireFormat WireByName(const std::string& name) {
  if (name == "bf16") return v1::BF16;
  if (name == "fp16") return v1::FP16;
  CHECK(name == "fp32");
  return v1::FP32;
}

v1::JobSpec::Precision PrecisionByName(const std::string& name) {
  if (name == "tf32") return v1::JobSpec::TF32;
  if (name == "bf16") return v1::JobSpec::BF16;
  CHECK(name == "fp32");
  return v1::JobSpec::FP32;
}

}  // namespace

v1::JobSpec MakeJobSpec(const LocalOptions& options,
                        const std::string& paradigm, int64_t train_samples) {
  v1::JobSpec spec;
  spec.set_model(options.model);
  spec.set_data(options.data);
  spec.set_paradigm(paradigm);
  const double total = static_cast<double>(train_samples) * options.epochs;
  for (const SwitchAt& planned : options.switches) {
    v1::PlannedSwitch& wire = *spec.add_switches();
    wire.set_samples(static_cast<int64_t>(planned.share * total));
    wire.set_paradigm(planned.paradigm);
  }
  spec.set_batching(options.batching);
  spec.set_optimizer(options.optimizer);
  spec.set_learning_rate(options.learning_rate);
  spec.set_schedule(options.schedule);
  spec.set_batch_size(options.batch_size);
  spec.set_micro_batch(options.micro_batch);
  spec.mutable_stop()->set_epochs(options.epochs);
  spec.mutable_stop()->set_seconds(options.max_seconds);
  spec.set_seed(options.seed);
  spec.set_wire(WireByName(options.wire));
  spec.set_precision(PrecisionByName(options.precision));
  spec.set_round_strength(options.round_strength);
  spec.mutable_evaluation()->set_every(
      EvaluationInterval(options.eval_every, train_samples));
  spec.mutable_evaluation()->set_defer(options.defer_eval);
  spec.mutable_stop()->set_target_accuracy(options.target_accuracy);
  spec.mutable_stop()->set_at_target(options.stop_at_target);
  const auto workers = static_cast<uint32_t>(options.workers.size());
  spec.mutable_workers()->set_min(workers);
  spec.mutable_workers()->set_max(workers);
  spec.set_servers(static_cast<uint32_t>(options.servers));
  return spec;
}

std::string JobSpecJson(const v1::JobSpec& spec) {
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = true;
  print.always_print_primitive_fields = true;
  print.preserve_proto_field_names = true;
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(spec, &json, print).ok());
  return json;
}

}  // namespace paceline
