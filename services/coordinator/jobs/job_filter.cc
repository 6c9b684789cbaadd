#include "services/coordinator/jobs/job_filter.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/field_checks.h"
#include "common/job/paradigm_spec.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

constexpr size_t kBytesMax = 4096;
constexpr size_t kTermsMax = 32;

using Term = std::function<bool(const v1::Job&)>;

struct Operator {
  absl::string_view text;
  // Whether it is true of two values, the first of which is less (`order` below
  // 0), equal (0) or greater. Null of `:`, which compares nothing.
  bool (*holds)(int order);
};
// The longer ones first.
constexpr Operator kOperators[] = {
    {"!=", [](int order) { return order != 0; }},
    {"<=", [](int order) { return order <= 0; }},
    {">=", [](int order) { return order >= 0; }},
    {"=", [](int order) { return order == 0; }},
    {":", nullptr},
    {"<", [](int order) { return order < 0; }},
    {">", [](int order) { return order > 0; }},
};

// The operator and the value of a term; `key` is the label's.
struct Condition {
  Operator op = {};
  std::string key;
  std::string value;

  bool HoldsFor(const std::string& text) const {
    return op.holds == nullptr ? absl::StrContains(text, value)
                               : op.holds(text.compare(value));
  }
};

const std::string& NameOf(const v1::Job& job) { return job.name(); }
const std::string& TitleOf(const v1::Job& job) { return job.display_name(); }
const std::string& ModelOf(const v1::Job& job) { return job.spec().model(); }
const std::string& ParadigmOf(const v1::Job& job) {
  return job.spec().paradigm();
}

template <const std::string& (*kTextOf)(const v1::Job&)>
absl::StatusOr<Term> TextTerm(Condition is) {
  return [is = std::move(is)](const v1::Job& job) {
    return is.HoldsFor(kTextOf(job));
  };
}

absl::StatusOr<Term> ParadigmTerm(Condition is) {
  const auto paradigm = ParseParadigm(is.value);
  if (is.op.text != ":" && paradigm.ok()) is.value = FormatParadigm(*paradigm);
  return TextTerm<ParadigmOf>(std::move(is));
}

absl::StatusOr<Term> LabelsTerm(Condition is) {
  return [key = std::move(is.value)](const v1::Job& job) {
    return job.labels().contains(key);
  };
}

absl::StatusOr<Term> LabelTerm(Condition is) {
  return [is = std::move(is)](const v1::Job& job) {
    const auto label = job.labels().find(is.key);
    if (label == job.labels().end()) return is.op.text == "!=";
    if (is.op.text == ":" && is.value == "*") return true;
    return is.HoldsFor(label->second);
  };
}

absl::StatusOr<Term> StateTerm(Condition is) {
  v1::Job::State state = v1::Job::STATE_UNSPECIFIED;
  if (!v1::Job::State_Parse(is.value, &state) ||
      state == v1::Job::STATE_UNSPECIFIED) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(is.value),
        " is no state; there are PENDING, STARTING, RUNNING, PAUSING, "
        "PAUSED, SAVING, CANCELLING, SUCCEEDED, FAILED, CANCELLED"));
  }
  return [holds = is.op.holds, state](const v1::Job& job) {
    return holds(job.state() - state);
  };
}

absl::StatusOr<Term> TimeTerm(Condition is) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, is.value, &time, &error) &&
      !absl::ParseTime("%Y-%m-%d", is.value, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(is.value),
                     " is no time; write it as 2026-01-31T12:00:00Z or "
                     "2026-01-31"));
  }
  return [holds = is.op.holds, time](const v1::Job& job) {
    const absl::Time created =
        absl::FromUnixSeconds(job.create_time().seconds()) +
        absl::Nanoseconds(job.create_time().nanos());
    return holds(created < time ? -1 : created > time ? 1 : 0);
  };
}

struct Field {
  absl::string_view name;
  absl::string_view operators;  // Those that it takes, with blanks between.
  absl::string_view text;       // The same for people.
  // The error's text is what is wrong with the value.
  absl::StatusOr<Term> (*compile)(Condition);
};
constexpr absl::string_view kTextOperators = "= != :";
constexpr absl::string_view kTextText = "=, != or :";
constexpr Field kLabelField = {"labels.", kTextOperators, kTextText, LabelTerm};
constexpr Field kFields[] = {
    {"name", kTextOperators, kTextText, TextTerm<NameOf>},
    {"display_name", kTextOperators, kTextText, TextTerm<TitleOf>},
    {"state", "= !=", "= or !=", StateTerm},
    {"spec.model", kTextOperators, kTextText, TextTerm<ModelOf>},
    {"spec.paradigm", kTextOperators, kTextText, ParadigmTerm},
    {"labels", ":", ":, or a key, as in labels.team", LabelsTerm},
    {"create_time", "= != < <= > >=", "=, !=, <, <=, > or >=", TimeTerm},
};

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<std::vector<Term>> Parse() {
    std::vector<Term> terms;
    SkipBlanks();
    while (!rest_.empty()) {
      if (terms.size() == kTermsMax) {
        return Error(absl::StrCat("has more than ", kTermsMax, " terms"));
      }
      if (!terms.empty()) PACELINE_RETURN_IF_ERROR(ReadAnd());
      PACELINE_ASSIGN_OR_RETURN(Term term, ReadTerm());
      terms.push_back(std::move(term));
      SkipBlanks();
    }
    return terms;
  }

 private:
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
    Condition condition;
    PACELINE_ASSIGN_OR_RETURN(const Field* const field,
                              ReadField(condition.key));
    SkipBlanks();
    PACELINE_ASSIGN_OR_RETURN(condition.op, ReadOperator(*field));
    SkipBlanks();
    const absl::string_view before = rest_;
    PACELINE_ASSIGN_OR_RETURN(condition.value, ReadValue(*field));
    absl::StatusOr<Term> term = field->compile(std::move(condition));
    if (term.ok()) return term;
    rest_ = before;
    return Error(term.status().message());
  }

  // Sets `key` if it is a label's.
  absl::StatusOr<const Field*> ReadField(std::string& key) {
    const absl::string_view before = rest_;
    std::string name = TakeWord(InName);
    if (name == "labels" && absl::StartsWith(rest_, ".")) {
      PACELINE_ASSIGN_OR_RETURN(key, ReadLabelKey());
      return &kLabelField;
    }
    if (name == "spec" && absl::StartsWith(rest_, ".")) {
      rest_.remove_prefix(1);
      absl::StrAppend(&name, ".", TakeWord(InName));
    }
    for (const Field& known : kFields) {
      if (known.name == name) return &known;
    }
    rest_ = before;
    return Error(absl::StrCat(
        Next(),
        " is no field; there are name, display_name, state, spec.model, "
        "spec.paradigm, labels.KEY, create_time"));
  }

  absl::StatusOr<std::string> ReadLabelKey() {
    rest_.remove_prefix(1);
    std::string key;
    if (absl::StartsWith(rest_, "\"")) {
      PACELINE_ASSIGN_OR_RETURN(key, TakeQuoted());
    } else {
      key = TakeWord([](char c) { return InName(c) || c == '.'; });
    }
    if (key.empty()) return Error("labels. needs a key, as in labels.team");
    return key;
  }

  absl::StatusOr<Operator> ReadOperator(const Field& field) {
    const std::vector<absl::string_view> allowed =
        absl::StrSplit(field.operators, ' ');
    for (const Operator& known : kOperators) {
      if (!absl::StartsWith(rest_, known.text)) continue;
      if (!absl::c_linear_search(allowed, known.text)) break;
      rest_.remove_prefix(known.text.size());
      return known;
    }
    return Error(
        absl::StrCat("this field takes ", field.text, ", not ", Next()));
  }

  absl::StatusOr<std::string> ReadValue(const Field& field) {
    if (absl::StartsWith(rest_, "\"")) return TakeQuoted();
    const absl::string_view before = rest_;
    std::string value = TakeWord(InValue);
    // The '=' of an unquoted paradigm, "ssp:s=3".
    if (field.compile == ParadigmTerm && absl::StartsWith(rest_, "=")) {
      rest_ = before;
      return Error("put a paradigm with parameters into quotes");
    }
    if (!value.empty()) return value;
    return Error(absl::StrCat("a value is a word or stands in quotes",
                              rest_.empty() ? "" : "; this is ",
                              rest_.empty() ? "" : Next()));
  }

  const absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<JobFilter> JobFilter::Parse(absl::string_view text) {
  if (text.size() > kBytesMax) {
    return InvalidField("filter",
                        absl::StrCat("has ", text.size(), " bytes; at most ",
                                     kBytesMax, " are allowed"));
  }
  JobFilter filter;
  PACELINE_ASSIGN_OR_RETURN(filter.terms_, Parser(text).Parse());
  return filter;
}

bool JobFilter::Matches(const v1::Job& job) const {
  return absl::c_all_of(terms_,
                        [&job](const auto& holds) { return holds(job); });
}

}  // namespace paceline
