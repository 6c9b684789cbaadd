// A YAML file of jobs.

#include "services/cli/admin/job_file.h"
#include "services/cli/admin/output/format.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {R"(name: mnist-lenet5
labels: {team: vision, "a b": 'c'}
display_name: |
  Two
  lines
spec:
  model: lenet5
  data: mnist:/data/mnist
  paradigm: "dssp:lower=3,upper=15"
  learningRate: 5e-3
  batch_size: 32
  wire: bf16
  switches: [{samples: 1000, paradigm: asp}]
  workers: {pools: [a, b], min: 2, max: 0x10}
  stop: {epochs: 3, at_target: true, target_accuracy: .9}
  checkpoints: {interval: 1.5h, keep: 3}
---
spec: &s {model: mlp, data: synthetic:tiny}
---
spec: *s
)",
          "{\"spec\": {\"model\": \"mlp\", \"data\": \"d\", \"seed\": 7}}",
          "a: &a [*a, *a]\nspec: {switches: *a}",
          "spec: {model: !!binary aGk=, data: ~}\nname: ? x",
          std::string(2000, '[')};
}

void FuzzOne(absl::string_view input) {
  const auto jobs = ParseJobFile(input);
  ExpectInvalidArgument(jobs.status());
  if (!jobs.ok()) return;
  CHECK(!jobs->empty());
  // What is printed of a job can be created again.
  for (const v1::Job& job : *jobs) {
    CHECK(job.has_spec() && job.uid().empty());
    const auto yaml = MessageToYaml(job);
    if (!yaml.ok()) continue;
    const auto again = ParseJobFile(*yaml);
    CHECK(again.ok() && again->size() == 1);
    CHECK(BytesOf(again->front()) == BytesOf(job));
  }
}

}  // namespace paceline
