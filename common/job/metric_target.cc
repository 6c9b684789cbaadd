#include "common/job/metric_target.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/plain_name.h"

namespace paceline {

absl::StatusOr<MetricTarget> ParseMetricTarget(absl::string_view text) {
  MetricTarget target;
  const size_t sign = text.find_first_of("<>");
  const absl::string_view name = text.substr(0, sign);
  bool right = sign != absl::string_view::npos && IsPlainName(name);
  if (right) {
    target.metric = std::string(name);
    target.at_least = text[sign] == '>';
    absl::string_view value = text.substr(sign + 1);
    right = absl::ConsumePrefix(&value, "=") &&
            absl::SimpleAtod(value, &target.value) &&
            std::isfinite(target.value);
  }
  if (right) return target;
  return absl::InvalidArgumentError(
      absl::StrCat("must be METRIC<=VALUE or METRIC>=VALUE, as perplexity<=20; "
                   "a metric's name has ",
                   kPlainNameRule));
}

std::string FormatMetricTarget(const MetricTarget& target) {
  return absl::StrCat(target.metric,
                      target.at_least ? ">=" : "<=", target.value);
}

}  // namespace paceline
