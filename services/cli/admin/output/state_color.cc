#include "services/cli/admin/output/state_color.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace paceline {
namespace {

constexpr std::pair<absl::string_view, absl::string_view> kStateColors[] = {
    {"FAILED", "\x1b[31m"},
    {"RUNNING", "\x1b[32m"},
    {"PAUSED", "\x1b[33m"},
};
constexpr absl::string_view kColorEnd = "\x1b[0m";

std::string PaintLine(absl::string_view line, absl::string_view after) {
  const auto blank_at = [&](size_t at) {
    return at >= line.size() || line[at] == ' ';
  };
  size_t first = absl::string_view::npos;
  std::pair<absl::string_view, absl::string_view> found;
  for (const auto& painted : kStateColors) {
    const absl::string_view state = painted.first;
    size_t at = line.find(state);
    while (at != absl::string_view::npos &&
           !((at == 0 || blank_at(at - 1)) && blank_at(at + state.size()))) {
      at = line.find(state, at + 1);
    }
    if (at < first) {
      first = at;
      found = painted;
    }
  }
  if (first == absl::string_view::npos) return std::string(line);
  return absl::StrCat(line.substr(0, first), found.second, found.first,
                      kColorEnd, after,
                      line.substr(first + found.first.size()));
}

}  // namespace

std::string PaintStates(absl::string_view text, absl::string_view after) {
  std::string painted;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::StrAppend(&painted, i == 0 ? "" : "\n", PaintLine(lines[i], after));
  }
  return painted;
}

}  // namespace paceline
