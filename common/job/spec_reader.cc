#include "common/job/spec_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/job/duration.h"
#include "common/status.h"

namespace paceline {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", text, "\"");
}

// "has the parameters lower, upper".
std::string Describe(absl::string_view name,
                     absl::Span<const absl::string_view> known) {
  if (known.empty()) return absl::StrCat(name, " has no parameters");
  return absl::StrCat(name, " has the parameter", known.size() > 1 ? "s " : " ",
                      absl::StrJoin(known, ", "));
}

bool IsAnyOf(absl::string_view text,
             absl::Span<const absl::string_view> choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

}  // namespace

absl::string_view SpecName(absl::string_view spec) {
  return spec.substr(0, spec.find(':'));
}

absl::StatusOr<SpecParameters> SpecParameters::Parse(
    absl::string_view spec, absl::Span<const absl::string_view> known) {
  const absl::string_view name = SpecName(spec);
  if (name.size() == spec.size()) return SpecParameters();
  return ParseList(name, spec.substr(name.size() + 1), known);
}

absl::StatusOr<SpecParameters> SpecParameters::ParseList(
    absl::string_view what, absl::string_view list,
    absl::Span<const absl::string_view> known) {
  SpecParameters parameters;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto& [key, value] = pair;
    if (key.empty() || value.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(part), " is not of the form parameter=value; ",
                       Describe(what, known)));
    }
    if (!IsAnyOf(key, known)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown parameter ", Quoted(key), "; ", Describe(what, known)));
    }
    if (!parameters.values_.emplace(key, value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", Quoted(key), " is given twice"));
    }
  }
  return parameters;
}

absl::string_view SpecParameters::Text(absl::string_view key,
                                       absl::string_view fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? fallback : it->second;
}

absl::StatusOr<int64_t> SpecParameters::Whole(absl::string_view key,
                                              int64_t fallback, int64_t least,
                                              int64_t max) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  PACELINE_ASSIGN_OR_RETURN(const int64_t number,
                            ParseNumber(key, it->second, max));
  if (number >= least) return number;
  return absl::InvalidArgumentError(absl::StrCat(
      key, "=", number, " is too small; it must be from ", least, " to ", max));
}

absl::StatusOr<double> SpecParameters::Decimal(absl::string_view key,
                                               double fallback, double min,
                                               double max) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  double number = 0;
  // SimpleAtod would take "nan", "inf" and hexadecimals too.
  const bool decimal = it->second.find_first_not_of("0123456789.+-eE") ==
                       absl::string_view::npos;
  if (!decimal || !absl::SimpleAtod(it->second, &number) || number < min ||
      number > max) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, "=", it->second, " is not a number from ", min, " to ", max));
  }
  return number;
}

absl::StatusOr<absl::Duration> SpecParameters::Duration(
    absl::string_view key, absl::Duration most) const {
  if (!Has(key)) {
    return absl::InvalidArgumentError(absl::StrCat(key, "=... is missing"));
  }
  return ParseDuration(key, Text(key, ""), absl::ZeroDuration(), most);
}

absl::StatusOr<size_t> SpecParameters::Choice(
    absl::string_view key, absl::Span<const absl::string_view> choices) const {
  const absl::string_view value = Text(key, choices.front());
  const auto it = std::find(choices.begin(), choices.end(), value);
  if (it == choices.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, "=", value, " is none of ", absl::StrJoin(choices, ", ")));
  }
  return static_cast<size_t>(it - choices.begin());
}

absl::StatusOr<int64_t> ParseNumber(absl::string_view what,
                                    absl::string_view text, int64_t max) {
  int64_t number = 0;
  const bool digits_alone =
      !text.empty() &&
      text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!digits_alone || !absl::SimpleAtoi(text, &number) || number > max) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, "=", text, " is not a whole number from 0 to ", max));
  }
  return number;
}

}  // namespace paceline
