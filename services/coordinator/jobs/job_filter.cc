#include "services/coordinator/jobs/job_filter.h"

#include "absl/strings/match.h"
#include "common/check.h"

namespace paceline {

bool JobFilter::TextMatches(const Term& term, const std::string& text) {
  switch (term.op) {
    case Operator::kEqual:
      return text == term.value;
    case Operator::kNotEqual:
      return text != term.value;
    default:
      return absl::StrContains(text, term.value);
  }
}

bool JobFilter::LabelMatches(const Term& term, const v1::Job& job) {
  const auto label = job.labels().find(term.key);
  if (label == job.labels().end()) return term.op == Operator::kNotEqual;
  if (term.op == Operator::kHas && term.value == "*") return true;
  return TextMatches(term, label->second);
}

bool JobFilter::TimeMatches(const Term& term, const v1::Job& job) {
  const absl::Time time = absl::FromUnixSeconds(job.create_time().seconds()) +
                          absl::Nanoseconds(job.create_time().nanos());
  switch (term.op) {
    case Operator::kEqual:
      return time == term.time;
    case Operator::kNotEqual:
      return time != term.time;
    case Operator::kLess:
      return time < term.time;
    case Operator::kLessOrEqual:
      return time <= term.time;
    case Operator::kGreater:
      return time > term.time;
    case Operator::kGreaterOrEqual:
      return time >= term.time;
    case Operator::kHas:
      break;
  }
  CHECK(false);  // The parser lets no other through.
}

bool JobFilter::Matches(const Term& term, const v1::Job& job) {
  switch (term.field) {
    case Field::kName:
      return TextMatches(term, job.name());
    case Field::kDisplayName:
      return TextMatches(term, job.display_name());
    case Field::kModel:
      return TextMatches(term, job.spec().model());
    case Field::kParadigm:
      return TextMatches(term, job.spec().paradigm());
    case Field::kLabel:
      return LabelMatches(term, job);
    case Field::kLabels:
      return job.labels().contains(term.value);
    case Field::kState:
      return (job.state() == term.state) == (term.op == Operator::kEqual);
    case Field::kCreateTime:
      return TimeMatches(term, job);
  }
  CHECK(false);  // No such field.
}

bool JobFilter::Matches(const v1::Job& job) const {
  for (const Term& term : terms_) {
    if (!Matches(term, job)) return false;
  }
  return true;
}

}  // namespace paceline
