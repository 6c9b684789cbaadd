// What people type at the command: `job update --set`, and names.

#include "services/cli/admin/job_file.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/resource_name.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

namespace {

void FuzzNames(absl::string_view typed) {
  const auto job = JobName("default", typed);
  ExpectInvalidArgument(job.status());
  if (job.ok()) CHECK(!JobIdOf(*job).empty() && !NamespaceOf(*job).empty());
  const auto checkpoint = CheckpointName("default", "", typed);
  ExpectInvalidArgument(checkpoint.status());
  if (checkpoint.ok()) CHECK(!LastPart(*checkpoint).empty());
  ExpectInvalidArgument(WorkerName(typed).status());
  ExpectInvalidArgument(ParseOutputFormat(typed).status());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {"mnist",
          "namespaces/team/jobs/mnist",
          "namespaces/team/jobs/mnist/checkpoints/c1",
          "workers/w0",
          "spec.learning_rate=0.01",
          "spec.stop.epochs=5",
          "labels.team=vision",
          "annotations.a.b/c=null",
          "spec.workers.max=null",
          "spec.stop={epochs: 3, samples: \"7\"}",
          "spec.switches=[{samples: 1, paradigm: asp}]",
          "spec.checkpoints.interval=1.5h",
          "updateMask=x",
          "createTime=2026-01-31T12:00:00Z"};
}

void FuzzOne(absl::string_view input) {
  FuzzNames(input);
  const auto update =
      ParseJobUpdate({std::string(input), "spec.stop.epochs=5"});
  ExpectInvalidArgument(update.status());
  if (!update.ok()) return;
  CHECK(update->request.update_mask().paths_size() >= 1);
  JobUpdate changed = *update;
  ApplyMapChanges(v1::Job(), &changed);
}

}  // namespace paceline
