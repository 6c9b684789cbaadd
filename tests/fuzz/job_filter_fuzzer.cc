// Which jobs a list shows.

#include "services/coordinator/jobs/job_filter.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/quiet_protobuf.h"
#include "tests/fuzz/sample_jobs.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {"state = RUNNING AND labels.team = \"vision\"",
          "create_time > 2026-01-31 AND create_time <= 2026-11-21T10:00:00.5Z",
          "name : j1 AND display_name != \"Job \\\"1\\\\\"",
          "spec.model = mlp AND spec.paradigm = ssp",
          "labels:team AND labels.\"a b\":*",
          "labels.team != vision",
          ""};
}

void FuzzOne(absl::string_view input) {
  if (!IsUtf8(input)) return;
  static const std::vector<v1::Job> jobs = SampleJobs();
  const auto filter = JobFilter::Parse(input);
  ExpectInvalidFields(filter.status());
  if (!filter.ok()) return;
  for (const v1::Job& job : jobs) filter->Matches(job);
  filter->Matches(v1::Job());
}

}  // namespace paceline
