#include "services/cli/admin/job_selection.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

std::string InQuotes(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

// "team=vision", "team!=vision" or "team", which is to be there.
absl::StatusOr<std::string> LabelTerm(absl::string_view label) {
  const size_t equals = label.find('=');
  absl::string_view key = label.substr(0, equals);
  const bool differs =
      equals != absl::string_view::npos && absl::ConsumeSuffix(&key, "!");
  key = absl::StripAsciiWhitespace(key);
  const bool is_key = !key.empty() && absl::c_all_of(key, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("-_./", c);
  });
  if (!is_key) {
    return absl::InvalidArgumentError(
        absl::StrCat("--labels: ", InQuotes(label),
                     " is none; write team=vision, team!=vision or team"));
  }
  if (equals == absl::string_view::npos) {
    return absl::StrCat("labels:", InQuotes(key));
  }
  absl::string_view value = label.substr(equals + 1);
  absl::ConsumePrefix(&value, "=");
  return absl::StrCat("labels.", InQuotes(key), differs ? " != " : " = ",
                      InQuotes(absl::StripAsciiWhitespace(value)));
}

}  // namespace

absl::StatusOr<std::string> SelectJobs(absl::string_view filter,
                                       absl::string_view state,
                                       absl::string_view labels) {
  std::vector<std::string> terms;
  if (!filter.empty()) terms.emplace_back(filter);
  if (!state.empty()) {
    terms.push_back(absl::StrCat("state = ", absl::AsciiStrToUpper(state)));
  }
  if (!labels.empty()) {
    for (const absl::string_view label : absl::StrSplit(labels, ',')) {
      absl::StatusOr<std::string> term = LabelTerm(label);
      if (!term.ok()) return term.status();
      terms.push_back(*std::move(term));
    }
  }
  return absl::StrJoin(terms, " AND ");
}

}  // namespace paceline
