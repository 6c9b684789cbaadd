#include "services/coordinator/jobs/job_list.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/field_checks.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/jobs/job_filter.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

// Negative, 0 or positive as `a` is before, at or after `b`.
template <typename T>
int Ordered(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int OrderedTimes(const google::protobuf::Timestamp& a,
                 const google::protobuf::Timestamp& b) {
  const int seconds = Ordered(a.seconds(), b.seconds());
  return seconds != 0 ? seconds : Ordered(a.nanos(), b.nanos());
}

// Without NaN, which would be in no order.
std::optional<double> AccuracyOf(const v1::Job& job) {
  const v1::JobProgress& progress = job.progress();
  if (!progress.has_accuracy() || std::isnan(progress.accuracy())) {
    return std::nullopt;
  }
  return progress.accuracy();
}

constexpr PageSizes kSizes = {.usual = 50, .most = 1000};

// A request that is in order.
struct Query {
  std::string prefix = {};  // The names of the parent's jobs begin so.
  JobFilter filter;
  JobOrder order;
  PageStart page;
  std::optional<v1::Job> after = {};  // The key of the last page's last job.
};

absl::StatusOr<Query> Read(const v1::ListJobsRequest& request) {
  FieldChecks checks;
  const auto parent = ParseNamespaceOrAll("parent", request.parent());
  const auto filter = JobFilter::Parse(request.filter());
  const auto order = JobOrder::Parse(request.order_by());
  const auto page =
      ReadPage(absl::StrCat("jobs\n", request.parent(), "\n", request.filter(),
                            "\n", request.order_by()),
               request.page_size(), request.page_token(), kSizes);
  for (const absl::Status& status :
       {parent.status(), filter.status(), order.status(), page.status()}) {
    checks.TakeAll(status);
  }
  PACELINE_RETURN_IF_ERROR(checks.status());
  Query query{.filter = *filter, .order = *order, .page = *page};
  query.prefix = *parent == "-" ? "namespaces/"
                                : absl::StrCat("namespaces/", *parent, "/");
  if (page->after.empty()) return query;
  if (!query.after.emplace().ParseFromString(page->after)) {
    return InvalidField("page_token",
                        "is none that a list returned; begin without one");
  }
  return query;
}

}  // namespace

absl::StatusOr<JobOrder> JobOrder::Parse(absl::string_view text) {
  JobOrder order;
  if (absl::StripAsciiWhitespace(text).empty()) text = "create_time desc";
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(part, absl::ByAnyChar(" \t"), absl::SkipWhitespace());
    const absl::string_view name = words.empty() ? "" : words[0];
    Field field = Field::kName;
    if (name == "create_time") {
      field = Field::kCreateTime;
    } else if (name == "update_time") {
      field = Field::kUpdateTime;
    } else if (name == "state") {
      field = Field::kState;
    } else if (name == "accuracy") {
      field = Field::kAccuracy;
    } else if (name != "name") {
      return InvalidField(
          "order_by",
          absl::StrCat("jobs are not ordered by ", Quoted(name),
                       "; there are create_time, update_time, name, state, "
                       "accuracy"));
    }
    if (words.size() > 2 || (words.size() == 2 && words[1] != "desc")) {
      return InvalidField("order_by",
                          absl::StrCat(Quoted(absl::StripAsciiWhitespace(part)),
                                       ": only \" desc\" may follow a field"));
    }
    for (const Part& known : order.parts_) {
      if (known.field != field) continue;
      return InvalidField("order_by", absl::StrCat(name, " is named twice"));
    }
    order.parts_.push_back({field, words.size() == 2});
  }
  return order;
}

int JobOrder::Compare(Field field, const v1::Job& a, const v1::Job& b) {
  switch (field) {
    case Field::kCreateTime:
      return OrderedTimes(a.create_time(), b.create_time());
    case Field::kUpdateTime:
      return OrderedTimes(a.update_time(), b.update_time());
    case Field::kState:
      return Ordered<int>(a.state(), b.state());
    case Field::kAccuracy:
      return Ordered(AccuracyOf(a), AccuracyOf(b));
    case Field::kName:
      break;
  }
  return Ordered(a.name(), b.name());
}

bool JobOrder::Before(const v1::Job& a, const v1::Job& b) const {
  for (const Part& part : parts_) {
    const int order = Compare(part.field, a, b);
    if (order != 0) return part.descending ? order > 0 : order < 0;
  }
  return a.name() < b.name();
}

v1::Job JobOrder::KeyOf(const v1::Job& job) {
  v1::Job key;
  key.set_name(job.name());
  key.set_state(job.state());
  if (job.has_create_time()) *key.mutable_create_time() = job.create_time();
  if (job.has_update_time()) *key.mutable_update_time() = job.update_time();
  if (const auto accuracy = AccuracyOf(job)) {
    key.mutable_progress()->set_accuracy(*accuracy);
  }
  return key;
}

absl::StatusOr<v1::ListJobsResponse> ListJobs(
    const v1::ListJobsRequest& request, absl::Span<const v1::Job* const> jobs,
    const Namespaces& visible) {
  PACELINE_ASSIGN_OR_RETURN(const Query query, Read(request));
  std::vector<const v1::Job*> shown;
  for (const v1::Job* const job : jobs) {
    if (!absl::StartsWith(job->name(), query.prefix) ||
        !visible.HasResource(job->name())) {
      continue;
    }
    if (query.after.has_value() && !query.order.Before(*query.after, *job)) {
      continue;
    }
    if (query.filter.Matches(*job)) shown.push_back(job);
  }
  const size_t size =
      std::min(shown.size(), static_cast<size_t>(query.page.size));
  std::partial_sort(shown.begin(), shown.begin() + static_cast<int>(size),
                    shown.end(), [&](const v1::Job* a, const v1::Job* b) {
                      return query.order.Before(*a, *b);
                    });
  v1::ListJobsResponse response;
  response.mutable_jobs()->Reserve(static_cast<int>(size));
  PageRoom room(query.page.size);
  size_t taken = 0;
  for (; taken < size && room.Take(*shown[taken]); ++taken) {
    *response.add_jobs() = *shown[taken];
  }
  if (taken < shown.size()) {
    response.set_next_page_token(
        NextPageToken(query.page.query,
                      JobOrder::KeyOf(*shown[taken - 1]).SerializeAsString()));
  }
  return response;
}

}  // namespace paceline
