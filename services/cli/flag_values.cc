#include "services/cli/flag_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/job/duration.h"
#include "common/job/names.h"
#include "common/status.h"

namespace paceline {
absl::Status CheckInRange(absl::string_view flag, int64_t value, int64_t lowest,
                          int64_t highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " ", value, ": must be from ", lowest, " to ", highest));
}

absl::Status CheckOneOf(absl::string_view flag, absl::string_view value,
                        const std::vector<absl::string_view>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " \"", value, "\": must be one of ", absl::StrJoin(choices, ", ")));
}

absl::StatusOr<int64_t> ParseNanos(absl::string_view flag,
                                   absl::string_view text, int64_t lowest,
                                   int64_t highest) {
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration duration,
                            ParseDuration(flag, text, absl::Nanoseconds(lowest),
                                          absl::Nanoseconds(highest)));
  return absl::ToInt64Nanoseconds(duration);
}

absl::StatusOr<std::vector<int64_t>> ParseNanosList(absl::string_view flag,
                                                    absl::string_view text,
                                                    int64_t lowest,
                                                    int64_t highest) {
  std::vector<int64_t> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    PACELINE_ASSIGN_OR_RETURN(const int64_t value,
                              ParseNanos(flag, part, lowest, highest));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<double> ParseBytes(absl::string_view flag,
                                  absl::string_view text) {
  constexpr absl::string_view kUnits = "kMGT";
  constexpr double kMost = 1e18;
  absl::string_view number = text;
  double scale = 1;
  const size_t unit =
      text.empty() ? absl::string_view::npos : kUnits.find(text.back());
  if (unit != absl::string_view::npos) {
    scale = std::pow(1000.0, static_cast<double>(unit + 1));
    number.remove_suffix(1);
  }
  double value = 0;
  if (absl::SimpleAtod(number, &value) && value >= 0 &&
      value * scale <= kMost) {
    return value * scale;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " \"", text, "\": no number of bytes; write for example 512, 64k, ",
      "100M or 1.25G"));
}

absl::StatusOr<double> ParseBytesPerSecond(absl::string_view flag,
                                           absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const double bytes, ParseBytes(flag, text));
  if (bytes >= 1) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": must be 1 byte a second or more"));
}

absl::StatusOr<std::vector<std::string>> PerWorker(
    absl::string_view flag, const std::vector<std::string>& values,
    const std::string& standard, int64_t workers) {
  const auto count = static_cast<size_t>(workers);
  if (values.empty()) return std::vector<std::string>(count, standard);
  if (values.size() == 1) return std::vector<std::string>(count, values[0]);
  if (values.size() == count) return values;
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " was given ", values.size(),
      " times: give it once, or once per worker, ", workers, " times"));
}

absl::StatusOr<uint64_t> ParseSeedFlag(absl::string_view text) {
  uint64_t seed = 0;
  if (absl::SimpleAtoi(text, &seed)) return seed;
  return absl::InvalidArgumentError(absl::StrCat(
      "--seed \"", text, "\": no whole number from 0 to 2^64 - 1"));
}

std::string ModelsHelp() {
  std::vector<absl::string_view> resnets;
  std::vector<absl::string_view> others;
  for (const absl::string_view name : ModelNames()) {
    (absl::StartsWith(name, "resnet") ? resnets : others).push_back(name);
  }
  return absl::StrCat("One of ", absl::StrJoin(others, ", "),
                      ". ResNets: ", absl::StrJoin(resnets, ", "), ".");
}

}  // namespace paceline
