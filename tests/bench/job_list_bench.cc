// One page of ListJobs, of 50 jobs out of as many as the argument says, without
// the network. The goal is well under 5 ms of 10,000.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/rng.h"
#include "services/coordinator/jobs/job_list.h"

namespace paceline {
namespace {

std::vector<v1::Job> DrawJobs(int64_t count) {
  Rng rng(1);
  std::vector<v1::Job> jobs(static_cast<size_t>(count));
  for (size_t i = 0; i < jobs.size(); ++i) {
    v1::Job& job = jobs[i];
    job.set_name(absl::StrCat("namespaces/n", i % 10, "/jobs/job-", i));
    job.set_uid(absl::StrCat("uid-", i));
    (*job.mutable_labels())["team"] = rng.Chance(1, 10) ? "vision" : "speech";
    (*job.mutable_labels())["owner"] = absl::StrCat("owner-", rng.Below(50));
    job.mutable_spec()->set_model("lenet5");
    job.mutable_spec()->set_data("mnist:/data/mnist");
    job.mutable_spec()->set_paradigm("ssp:s=3");
    job.set_state(static_cast<v1::Job::State>(1 + rng.Below(9)));
    job.mutable_create_time()->set_seconds(
        1'700'000'000 + static_cast<int64_t>(rng.Below(10'000'000)));
    for (int w = 0; w < 4; ++w) {
      v1::WorkerProgress& worker = *job.mutable_progress()->add_workers();
      worker.set_worker(absl::StrCat("w", w));
      worker.set_samples(static_cast<int64_t>(rng.Below(1'000'000)));
    }
  }
  return jobs;
}

// The first page and the one after it, by turns.
void ListPages(benchmark::State& state, const std::string& filter,
               const std::string& order_by) {
  const std::vector<v1::Job> jobs = DrawJobs(state.range(0));
  v1::ListJobsRequest request;
  request.set_parent("namespaces/-");
  request.set_filter(filter);
  request.set_order_by(order_by);
  for (auto _ : state) {
    std::vector<const v1::Job*> all;
    all.reserve(jobs.size());
    for (const v1::Job& job : jobs) all.push_back(&job);
    const auto response = ListJobs(request, all, Namespaces());
    CHECK(response.ok() && response->jobs_size() == 50);
    request.set_page_token(
        request.page_token().empty() ? response->next_page_token() : "");
  }
}

BENCHMARK_CAPTURE(ListPages, newest, "", "")->Arg(1000)->Arg(10'000);
BENCHMARK_CAPTURE(ListPages, filtered,
                  "state = RUNNING AND labels.team : \"speech\" AND "
                  "create_time > 2023-11-15",
                  "")
    ->Arg(10'000);
BENCHMARK_CAPTURE(ListPages, by_state_and_name, "", "state desc, name")
    ->Arg(10'000);

}  // namespace
}  // namespace paceline
