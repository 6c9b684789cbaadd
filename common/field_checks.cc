#include "common/field_checks.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paceline {
namespace {

constexpr size_t kQuotedMax = 80;
// A status may repeat all of a text that was sent.
constexpr size_t kTakenMax = 600;

}  // namespace

void FieldChecks::Add(absl::string_view field, absl::string_view description) {
  violations_.push_back({std::string(field), std::string(description)});
}

void FieldChecks::Take(absl::string_view field, const absl::Status& status) {
  if (!status.ok()) Add(field, CutUtf8(status.message(), kTakenMax));
}

void FieldChecks::TakeAll(const absl::Status& status) {
  for (const FieldViolation& violation : ViolationsOf(status)) {
    violations_.push_back(violation);
  }
}

void FieldChecks::NotEmpty(absl::string_view field, absl::string_view text) {
  if (text.empty()) Add(field, "is required");
}

void FieldChecks::NotLonger(absl::string_view field, absl::string_view text,
                            size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  Add(field, absl::StrCat("has ", text.size(), " bytes; at most ", bytes_max,
                          " are allowed"));
}

void FieldChecks::NoMoreCharacters(absl::string_view field,
                                   absl::string_view text,
                                   size_t characters_max) {
  const size_t characters = Characters(text);
  if (characters <= characters_max) return;
  Add(field, absl::StrCat("has ", characters, " characters; at most ",
                          characters_max, " are allowed"));
}

void FieldChecks::InRange(absl::string_view field, int64_t value, int64_t least,
                          int64_t most) {
  if (value >= least && value <= most) return;
  Add(field,
      absl::StrCat("is ", value, "; must be from ", least, " to ", most));
}

void FieldChecks::InRange(absl::string_view field, double value, double least,
                          double most) {
  if (value >= least && value <= most) return;
  Add(field,
      absl::StrCat("is ", value, "; must be from ", least, " to ", most));
}

size_t Characters(absl::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(
                           text.begin(), text.end(), ContinuesUtf8));
}

std::string Quoted(absl::string_view text) {
  const absl::string_view cut = CutUtf8(text, kQuotedMax);
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(cut),
                      cut.size() < text.size() ? "...\"" : "\"");
}

std::string FieldPath(absl::string_view parent, absl::string_view child) {
  return absl::StrCat(parent, parent.empty() ? "" : ".", child);
}

}  // namespace paceline
