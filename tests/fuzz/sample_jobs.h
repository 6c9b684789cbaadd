#ifndef PACELINE_TESTS_FUZZ_SAMPLE_JOBS_H_
#define PACELINE_TESTS_FUZZ_SAMPLE_JOBS_H_

#include <vector>

#include "absl/strings/str_cat.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// Jobs that differ in all that filters and orders look at.
inline std::vector<v1::Job> SampleJobs() {
  std::vector<v1::Job> jobs;
  for (int i = 0; i < 7; ++i) {
    v1::Job job;
    job.set_name(
        absl::StrCat("namespaces/", i % 2 == 0 ? "a" : "b", "/jobs/j", i));
    job.set_display_name(i == 3 ? "" : absl::StrCat("Job \"", i, "\""));
    job.set_state(static_cast<v1::Job::State>(1 + i % 9));
    job.mutable_create_time()->set_seconds(1'790'000'000 + i / 2);
    if (i > 2) job.mutable_update_time()->set_nanos(i);
    job.mutable_spec()->set_model(i % 3 == 0 ? "mlp" : "lenet5");
    job.mutable_spec()->set_paradigm(i % 2 == 0 ? "ssp:s=3" : "bsp");
    if (i != 5) (*job.mutable_labels())["team"] = i < 3 ? "vision" : "";
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_SAMPLE_JOBS_H_
