#include "services/coordinator/jobs/job_list.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/jobs/field_checks.h"
#include "services/coordinator/jobs/job_filter.h"
#include "services/coordinator/jobs/job_order.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

constexpr PageSizes kSizes = {.usual = 50, .most = 1000};

// A request that is in order.
struct Query {
  std::string prefix;  // Of the names of the parent's jobs.
  JobFilter filter;
  JobOrder order;
  int page_size = 0;
  std::optional<v1::Job> after;  // The key of the last page's last job.
  std::string text;              // For the page tokens.
};

absl::StatusOr<Query> Read(const v1::ListJobsRequest& request) {
  FieldChecks checks;
  const auto parent = ParseNamespaceOrAll("parent", request.parent());
  const auto filter = JobFilter::Parse(request.filter());
  const auto order = JobOrder::Parse(request.order_by());
  Query query;
  query.text = absl::StrCat("jobs\n", request.parent(), "\n", request.filter(),
                            "\n", request.order_by());
  const auto page =
      ReadPage(query.text, request.page_size(), request.page_token(), kSizes);
  for (const absl::Status& status :
       {parent.status(), filter.status(), order.status(), page.status()}) {
    checks.TakeAll(status);
  }
  PACELINE_RETURN_IF_ERROR(checks.status());
  query.prefix = *parent == "-" ? "namespaces/"
                                : absl::StrCat("namespaces/", *parent, "/");
  query.filter = *filter;
  query.order = *order;
  query.page_size = page->size;
  if (page->after.empty()) return query;
  if (!query.after.emplace().ParseFromString(page->after)) {
    return InvalidField("page_token",
                        "is none that a list returned; begin without one");
  }
  return query;
}

}  // namespace

absl::StatusOr<v1::ListJobsResponse> ListJobs(
    const v1::ListJobsRequest& request, absl::Span<const v1::Job* const> jobs) {
  PACELINE_ASSIGN_OR_RETURN(const Query query, Read(request));
  std::vector<const v1::Job*> shown;
  for (const v1::Job* const job : jobs) {
    if (!absl::StartsWith(job->name(), query.prefix)) continue;
    if (query.after.has_value() && !query.order.Before(*query.after, *job)) {
      continue;
    }
    if (query.filter.Matches(*job)) shown.push_back(job);
  }
  const size_t size =
      std::min(shown.size(), static_cast<size_t>(query.page_size));
  std::partial_sort(shown.begin(), shown.begin() + static_cast<int>(size),
                    shown.end(), [&](const v1::Job* a, const v1::Job* b) {
                      return query.order.Before(*a, *b);
                    });
  v1::ListJobsResponse response;
  response.mutable_jobs()->Reserve(static_cast<int>(size));
  PageRoom room(query.page_size);
  size_t taken = 0;
  for (; taken < size && room.Take(*shown[taken]); ++taken) {
    *response.add_jobs() = *shown[taken];
  }
  if (taken < shown.size()) {
    response.set_next_page_token(NextPageToken(
        query.text, JobOrder::KeyOf(*shown[taken - 1]).SerializeAsString()));
  }
  return response;
}

}  // namespace paceline
