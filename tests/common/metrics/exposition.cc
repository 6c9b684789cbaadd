#include "tests/common/metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

// Up to the next `end`, which goes too; nothing if there is none.
bool TakeTo(absl::string_view& rest, char end, std::string& taken) {
  const size_t size = rest.find(end);
  if (size == absl::string_view::npos) return false;
  taken = std::string(rest.substr(0, size));
  rest.remove_prefix(size + 1);
  return true;
}

// A label's value, from behind its first quote to behind its last, with \\,
// \" and \n resolved.
bool TakeValue(absl::string_view& rest, std::string& value) {
  value.clear();
  while (!rest.empty() && rest[0] != '"') {
    const bool escaped = rest[0] == '\\';
    if (escaped) rest.remove_prefix(1);
    if (rest.empty()) return false;
    value += escaped && rest[0] == 'n' ? '\n' : rest[0];
    rest.remove_prefix(1);
  }
  return absl::ConsumePrefix(&rest, "\"");
}

}  // namespace

Exposition::Exposition(absl::string_view text) : text_(text) {
  for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    EXPECT_TRUE(Read(line)) << line;
  }
}

Exposition::Exposition(const std::vector<prometheus::MetricFamily>& families)
    : Exposition(prometheus::TextSerializer().Serialize(families)) {}

bool Exposition::Read(absl::string_view line) {
  Series series;
  std::string name;
  absl::string_view rest = line;
  if (rest.find('{') == absl::string_view::npos) {
    if (!TakeTo(rest, ' ', name)) return false;
  } else {
    if (!TakeTo(rest, '{', name)) return false;
    while (!absl::ConsumePrefix(&rest, "} ")) {
      std::string label;
      std::string value;
      absl::ConsumePrefix(&rest, ",");
      if (!TakeTo(rest, '=', label) || !absl::ConsumePrefix(&rest, "\"") ||
          !TakeValue(rest, value)) {
        return false;
      }
      if (!series.labels.emplace(label, value).second) return false;
    }
  }
  if (!absl::SimpleAtod(rest, &series.value)) return false;
  series_[name].push_back(std::move(series));
  return true;
}

std::vector<std::string> Exposition::Names() const {
  std::vector<std::string> names;
  names.reserve(series_.size());
  for (const auto& [name, series] : series_) names.push_back(name);
  return names;
}

size_t Exposition::SeriesOf(const std::string& name) const {
  const auto it = series_.find(name);
  return it == series_.end() ? 0 : it->second.size();
}

std::map<std::string, std::set<std::string>> Exposition::LabelsOf(
    const std::string& name) const {
  std::map<std::string, std::set<std::string>> labels;
  const auto it = series_.find(name);
  if (it == series_.end()) return labels;
  for (const Series& series : it->second) {
    for (const auto& [label, value] : series.labels) {
      labels[label].insert(value);
    }
  }
  return labels;
}

std::set<std::string> Exposition::ValuesOf(const std::string& name,
                                           const std::string& label) const {
  return LabelsOf(name)[label];
}

double Exposition::Sum(const std::string& name) const {
  double sum = 0;
  const auto it = series_.find(name);
  if (it == series_.end()) return sum;
  for (const Series& series : it->second) sum += series.value;
  return sum;
}

}  // namespace paceline
