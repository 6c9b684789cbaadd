#include "services/coordinator/jobs/job_filter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/field_checks.h"
#include "common/job/paradigm_spec.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {

class JobFilterParser {
 public:
  explicit JobFilterParser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<JobFilter> Parse() {
    JobFilter filter;
    SkipBlanks();
    while (!rest_.empty()) {
      if (filter.terms_.size() == kTermsMax) {
        return Error(absl::StrCat("has more than ", kTermsMax, " terms"));
      }
      if (!filter.terms_.empty()) PACELINE_RETURN_IF_ERROR(ReadAnd());
      PACELINE_ASSIGN_OR_RETURN(Term term, ReadTerm());
      filter.terms_.push_back(std::move(term));
      SkipBlanks();
    }
    return filter;
  }

  static constexpr size_t kBytesMax = 4096;

 private:
  using Field = JobFilter::Field;
  using Operator = JobFilter::Operator;
  using Term = JobFilter::Term;

  static constexpr size_t kTermsMax = 32;

  struct FieldRule {
    absl::string_view name;
    Field field;
    absl::string_view operators;  // Those that it takes, with blanks between.
    absl::string_view text;       // The same for people.
  };
  static constexpr absl::string_view kTextOperators = "= != :";
  static constexpr absl::string_view kTextText = "=, != or :";
  static constexpr std::array<FieldRule, 8> kFields = {{
      {"name", Field::kName, kTextOperators, kTextText},
      {"display_name", Field::kDisplayName, kTextOperators, kTextText},
      {"state", Field::kState, "= !=", "= or !="},
      {"spec.model", Field::kModel, kTextOperators, kTextText},
      {"spec.paradigm", Field::kParadigm, kTextOperators, kTextText},
      {"labels", Field::kLabels, ":", ":, or a key, as in labels.team"},
      {"labels.", Field::kLabel, kTextOperators, kTextText},
      {"create_time", Field::kCreateTime,
       "= != < <= > >=", "=, !=, <, <=, > or >="},
  }};

  struct OperatorName {
    absl::string_view text;
    Operator op;
  };
  // The longer ones first.
  static constexpr std::array<OperatorName, 7> kOperators = {{
      {"!=", Operator::kNotEqual},
      {"<=", Operator::kLessOrEqual},
      {">=", Operator::kGreaterOrEqual},
      {"=", Operator::kEqual},
      {":", Operator::kHas},
      {"<", Operator::kLess},
      {">", Operator::kGreater},
  }};

  absl::Status Error(absl::string_view what) const {
    return InvalidField(
        "filter",
        absl::StrCat("at byte ", text_.size() - rest_.size(), ": ", what));
  }

  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  // What stands there up to a blank, for an error.
  std::string Next() const {
    return Quoted(rest_.substr(0, rest_.find_first_of(" \t\n")));
  }

  // Characters of a word; a value may hold more than a field's name.
  static bool InName(char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '/';
  }
  static bool InValue(char c) {
    return !absl::ascii_isspace(c) && !absl::StrContains("\"()<>=!", c);
  }

  std::string TakeWord(bool (*belongs)(char)) {
    size_t size = 0;
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

  absl::StatusOr<std::string> TakeQuoted() {
    const absl::Status open = Error("a quote is not closed");
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return open;
      text.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return open;
    rest_.remove_prefix(1);
    return text;
  }

  absl::Status ReadAnd() {
    const absl::string_view before = rest_;
    const std::string word = TakeWord(InName);
    if (word == "AND") {
      SkipBlanks();
      return rest_.empty() ? Error("nothing follows AND") : absl::OkStatus();
    }
    rest_ = before;
    return Error(absl::StrCat(
        "terms are joined by AND, there is nothing else; this is ", Next()));
  }

  absl::StatusOr<Term> ReadTerm() {
    Term term;
    PACELINE_RETURN_IF_ERROR(ReadField(term));
    SkipBlanks();
    PACELINE_RETURN_IF_ERROR(ReadOperator(term));
    SkipBlanks();
    PACELINE_RETURN_IF_ERROR(ReadValue(term));
    return term;
  }

  absl::Status ReadField(Term& term) {
    const absl::string_view before = rest_;
    std::string name = TakeWord(InName);
    if (name == "labels" && absl::StartsWith(rest_, ".")) {
      return ReadLabelKey(term);
    }
    if (name == "spec" && absl::StartsWith(rest_, ".")) {
      rest_.remove_prefix(1);
      absl::StrAppend(&name, ".", TakeWord(InName));
    }
    for (const FieldRule& known : kFields) {
      if (known.name != name) continue;
      term.field = known.field;
      return absl::OkStatus();
    }
    rest_ = before;
    return Error(absl::StrCat(
        Next(),
        " is no field; there are name, display_name, state, spec.model, "
        "spec.paradigm, labels.KEY, create_time"));
  }

  absl::Status ReadLabelKey(Term& term) {
    rest_.remove_prefix(1);
    term.field = Field::kLabel;
    if (absl::StartsWith(rest_, "\"")) {
      PACELINE_ASSIGN_OR_RETURN(term.key, TakeQuoted());
    } else {
      term.key = TakeWord([](char c) { return InName(c) || c == '.'; });
    }
    return term.key.empty() ? Error("labels. needs a key, as in labels.team")
                            : absl::OkStatus();
  }

  absl::Status ReadOperator(Term& term) {
    const FieldRule& rule = *std::find_if(
        kFields.begin(), kFields.end(),
        [&](const FieldRule& it) { return it.field == term.field; });
    const std::vector<absl::string_view> allowed =
        absl::StrSplit(rule.operators, ' ');
    for (const OperatorName& known : kOperators) {
      if (!absl::StartsWith(rest_, known.text)) continue;
      if (!absl::c_linear_search(allowed, known.text)) break;
      rest_.remove_prefix(known.text.size());
      term.op = known.op;
      return absl::OkStatus();
    }
    return Error(
        absl::StrCat("this field takes ", rule.text, ", not ", Next()));
  }

  absl::Status ReadValue(Term& term) {
    const absl::string_view before = rest_;
    if (absl::StartsWith(rest_, "\"")) {
      PACELINE_ASSIGN_OR_RETURN(term.value, TakeQuoted());
    } else {
      term.value = TakeWord(InValue);
      // The '=' of an unquoted paradigm, "ssp:s=3".
      if (term.field == Field::kParadigm && absl::StartsWith(rest_, "=")) {
        rest_ = before;
        return Error("put a paradigm with parameters into quotes");
      }
      if (term.value.empty()) {
        return Error(absl::StrCat("a value is a word or stands in quotes",
                                  rest_.empty() ? "" : "; this is ",
                                  rest_.empty() ? "" : Next()));
      }
    }
    return SetTyped(term, before);
  }

  // What the value means where it is no text.
  absl::Status SetTyped(Term& term, absl::string_view before) {
    if (term.field == Field::kState &&
        (!v1::Job::State_Parse(term.value, &term.state) ||
         term.state == v1::Job::STATE_UNSPECIFIED)) {
      rest_ = before;
      return Error(absl::StrCat(
          Quoted(term.value),
          " is no state; there are PENDING, STARTING, RUNNING, PAUSING, "
          "PAUSED, CANCELLING, SUCCEEDED, FAILED, CANCELLED"));
    }
    if (term.field == Field::kCreateTime && !ReadTime(term.value, term.time)) {
      rest_ = before;
      return Error(absl::StrCat(Quoted(term.value),
                                " is no time; write it as "
                                "2026-01-31T12:00:00Z or 2026-01-31"));
    }
    if (term.field == Field::kParadigm && term.op != Operator::kHas) {
      const auto paradigm = ParseParadigm(term.value);
      if (paradigm.ok()) term.value = FormatParadigm(*paradigm);
    }
    return absl::OkStatus();
  }

  static bool ReadTime(absl::string_view text, absl::Time& time) {
    std::string error;
    return absl::ParseTime(absl::RFC3339_full, text, &time, &error) ||
           absl::ParseTime("%Y-%m-%d", text, &time, &error);
  }

  const absl::string_view text_;
  absl::string_view rest_;
};

absl::StatusOr<JobFilter> JobFilter::Parse(absl::string_view text) {
  if (text.size() > JobFilterParser::kBytesMax) {
    return InvalidField(
        "filter", absl::StrCat("has ", text.size(), " bytes; at most ",
                               JobFilterParser::kBytesMax, " are allowed"));
  }
  return JobFilterParser(text).Parse();
}

bool JobFilter::Holds(Operator op, int order) {
  switch (op) {
    case Operator::kEqual:
      return order == 0;
    case Operator::kNotEqual:
      return order != 0;
    case Operator::kLess:
      return order < 0;
    case Operator::kLessOrEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    case Operator::kGreaterOrEqual:
      return order >= 0;
    case Operator::kHas:
      break;
  }
  CHECK(false);  // It compares nothing.
}

bool JobFilter::TextMatches(const Term& term, const std::string& text) {
  if (term.op == Operator::kHas) return absl::StrContains(text, term.value);
  return Holds(term.op, text.compare(term.value));
}

bool JobFilter::LabelMatches(const Term& term, const v1::Job& job) {
  const auto label = job.labels().find(term.key);
  if (label == job.labels().end()) return term.op == Operator::kNotEqual;
  if (term.op == Operator::kHas && term.value == "*") return true;
  return TextMatches(term, label->second);
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
      return Holds(term.op, job.state() - term.state);
    case Field::kCreateTime: {
      const absl::Time time =
          absl::FromUnixSeconds(job.create_time().seconds()) +
          absl::Nanoseconds(job.create_time().nanos());
      return Holds(term.op, time < term.time ? -1 : time > term.time ? 1 : 0);
    }
  }
  CHECK(false);  // No such field.
}

bool JobFilter::Matches(const v1::Job& job) const {
  return absl::c_all_of(
      terms_, [&job](const Term& term) { return Matches(term, job); });
}

}  // namespace paceline
