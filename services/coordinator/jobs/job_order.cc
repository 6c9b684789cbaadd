#include "services/coordinator/jobs/job_order.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_details.h"
#include "services/coordinator/jobs/field_checks.h"

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
    } else if (name != "name") {
      return InvalidField(
          "order_by",
          absl::StrCat("jobs are not ordered by ", Quoted(name),
                       "; there are create_time, update_time, name, state"));
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
  return key;
}

}  // namespace paceline
