// The order of a list of jobs, and its pages.

#include "services/coordinator/jobs/job_list.h"
#include "services/coordinator/jobs/page_token.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_jobs.h"

namespace paceline {
namespace {

const std::vector<v1::Job>& Jobs() {
  static const std::vector<v1::Job> jobs = SampleJobs();
  return jobs;
}

void FuzzOrder(absl::string_view text) {
  if (!IsUtf8(text)) return;
  const auto order = JobOrder::Parse(text);
  ExpectInvalidFields(order.status());
  if (!order.ok()) return;
  // A total order, of which the key says all.
  for (const v1::Job& a : Jobs()) {
    for (const v1::Job& b : Jobs()) {
      const bool before = order->Before(a, b);
      CHECK(before == (&a != &b && !order->Before(b, a)));
      CHECK(before == order->Before(JobOrder::KeyOf(a), JobOrder::KeyOf(b)));
    }
  }
}

// Tokens of another list, of this one with a key that nobody made, and what
// follows.
void FuzzPages(absl::string_view query, absl::string_view token) {
  for (const std::string& given :
       {std::string(token), NextPageToken(query, token)}) {
    const auto page = ReadPage(query, 0, given);
    ExpectInvalidFields(page.status());
    const auto sequence = ReadSequencePage(query, 7, given);
    ExpectInvalidFields(sequence.status());
    if (sequence.ok()) CHECK(sequence->after >= 0 && sequence->size == 7);
  }
  const auto own = ReadPage(query, 0, NextPageToken(query, token));
  if (own.ok()) CHECK(own->after == token);
}

// All pages from here on show every job at most once.
void FuzzList(v1::ListJobsRequest request) {
  std::vector<const v1::Job*> jobs;
  for (const v1::Job& job : Jobs()) jobs.push_back(&job);
  for (size_t shown = 0; shown <= jobs.size();) {
    const auto response = ListJobs(request, jobs, Namespaces());
    ExpectInvalidFields(response.status());
    if (!response.ok() || response->next_page_token().empty()) return;
    CHECK(response->jobs_size() > 0);
    shown += static_cast<size_t>(response->jobs_size());
    CHECK(shown < jobs.size());
    request.set_page_token(response->next_page_token());
  }
}

std::string Seed(const char* order, const char* token, const char* request) {
  return FuzzText(order) + FuzzText(token) +
         MessageSeed<v1::ListJobsRequest>(request);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {Seed("create_time desc, name", "7",
               "parent: 'namespaces/-' page_size: 2"),
          Seed("state,update_time desc", "abc",
               "parent: 'namespaces/a' page_size: 1 order_by: 'state' "
               "filter: 'labels:team'"),
          Seed("", "", "parent: 'namespaces/-' page_token: 'x'")};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  FuzzOrder(fuzz.Text());
  const absl::string_view token = fuzz.Text();
  FuzzPages("list\nof this", token);
  auto request = ParseMessage<v1::ListJobsRequest>(fuzz.Rest());
  if (!request.has_value()) return;
  FuzzList(*request);
  // With a key of the fuzzer's making under the right digest.
  request->set_page_token(
      NextPageToken(absl::StrCat("jobs\n", request->parent(), "\n",
                                 request->filter(), "\n", request->order_by()),
                    token));
  FuzzList(*request);
}

}  // namespace paceline
