#include "services/cli/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"

namespace paceline {

double MedianOf(std::vector<double> values) {
  CHECK(!values.empty());
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  // The upper one of the two in the middle is the least of those behind.
  return (*middle + *std::min_element(middle + 1, values.end())) / 2;
}

Spread SpreadOf(const std::vector<double>& values) {
  CHECK(!values.empty());
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {MedianOf(values), *min, *max};
}

std::string FormatSpread(const Spread& spread, int digits) {
  const auto text = [digits](double value) {
    return std::isfinite(value) ? absl::StrFormat("%.*f", digits, value)
                                : std::string("never");
  };
  const std::string median = text(spread.median);
  const std::string min = text(spread.min);
  const std::string max = text(spread.max);
  if (min == max) return median;
  return absl::StrCat(median, " (", min, "-", max, ")");
}

Json SpreadJson(const Spread& spread) {
  const auto or_null = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  return {{"median", or_null(spread.median)},
          {"min", or_null(spread.min)},
          {"max", or_null(spread.max)}};
}

}  // namespace paceline
