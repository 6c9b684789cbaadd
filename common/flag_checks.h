#ifndef PACELINE_COMMON_FLAG_CHECKS_H_
#define PACELINE_COMMON_FLAG_CHECKS_H_

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace paceline {

// What CLI11 lets pass and no flag of ours means.

// A number, and not "nan", which CLI::Range takes.
inline CLI::Validator IsNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && !std::isnan(value)
                   ? std::string()
                   : absl::StrCat(text, " is not a number");
      },
      "");
}

// A part of something, and not nothing.
inline CLI::Validator IsShare() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && value > 0 && value <= 1
                   ? std::string()
                   : absl::StrCat(text, " is not above 0 and at most 1");
      },
      "");
}

// For a flag without a sign: -1 would be the largest number that there is.
inline CLI::Validator NotNegative() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.find('-') == std::string::npos
                   ? std::string()
                   : absl::StrCat(text, " is negative");
      },
      "");
}

// Makes bytes, 107374182400, of "100GiB".
inline CLI::Validator AsBytes() {
  const CLI::AsSizeValue as_size(/*kb_is_1000=*/false);
  return CLI::Validator(
      [as_size](std::string& text) {
        const std::string complaint = NotNegative()(text);
        return complaint.empty() ? as_size(text) : complaint;
      },
      as_size.get_description());
}

}  // namespace paceline

#endif  // PACELINE_COMMON_FLAG_CHECKS_H_
