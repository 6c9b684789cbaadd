// The names of the API's resources.

#include "absl/strings/str_cat.h"
#include "services/coordinator/jobs/resource_name.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/quiet_protobuf.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {"namespaces/default",        "namespaces/-",
          "namespaces/a/jobs/mnist-1", "namespaces/a/jobs/j/checkpoints/c9",
          "workers/w0.a_b-c",          "servers/s0"};
}

void FuzzOne(absl::string_view input) {
  if (!IsUtf8(input)) return;
  ExpectInvalidFields(CheckId("id", input));
  const auto space = ParseNamespaceName("f", input);
  ExpectInvalidFields(space.status());
  if (space.ok()) CHECK(absl::StrCat("namespaces/", *space) == input);
  const auto all = ParseNamespaceOrAll("f", input);
  ExpectInvalidFields(all.status());
  CHECK(all.ok() == (space.ok() || input == "namespaces/-"));
  const auto job = ParseJobName("f", input);
  ExpectInvalidFields(job.status());
  if (job.ok()) CHECK(job->Format() == input);
  const auto checkpoint = ParseCheckpointName("f", input);
  ExpectInvalidFields(checkpoint.status());
  if (checkpoint.ok()) CHECK(checkpoint->Format() == input);
  const auto worker = ParseWorkerName("f", input);
  ExpectInvalidFields(worker.status());
  if (worker.ok()) CHECK(FormatWorkerName(*worker) == input);
}

}  // namespace paceline
