#include "services/cli/switch_flag.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

absl::StatusOr<SwitchAt> ParseSwitch(const std::string& value) {
  const std::pair<std::string, std::string> sides =
      absl::StrSplit(value, absl::MaxSplits('=', 1));
  absl::string_view text = sides.first;
  double percent = 0;
  if (!absl::ConsumeSuffix(&text, "%") || !absl::SimpleAtod(text, &percent) ||
      !(percent >= 0 && percent < 100) || sides.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--switch-at \"", value,
        "\": must be SHARE%=PARADIGM with a share from 0 to below 100, as "
        "30%=asp"));
  }
  PACELINE_RETURN_IF_ERROR(Annotate(MakePolicy(sides.second).status(),
                                    absl::StrCat("--switch-at ", value)));
  return SwitchAt{percent / 100, sides.second};
}

}  // namespace

absl::StatusOr<std::vector<SwitchAt>> ParseSwitches(
    const std::vector<std::string>& values) {
  std::vector<SwitchAt> switches;
  for (const std::string& value : values) {
    PACELINE_ASSIGN_OR_RETURN(SwitchAt parsed, ParseSwitch(value));
    switches.push_back(std::move(parsed));
  }
  std::stable_sort(
      switches.begin(), switches.end(),
      [](const SwitchAt& a, const SwitchAt& b) { return a.share < b.share; });
  return switches;
}

}  // namespace paceline
