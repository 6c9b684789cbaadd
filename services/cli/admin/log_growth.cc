#include "services/cli/admin/log_growth.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "google/protobuf/util/message_differencer.h"

namespace paceline {
namespace {

using google::protobuf::util::MessageDifferencer;
using Lines = std::vector<const v1::LogLine*>;

std::map<v1::LogLine::Source, Lines> BySource(const LogLines& lines) {
  std::map<v1::LogLine::Source, Lines> sorted;
  for (const v1::LogLine& line : lines) sorted[line.source()].push_back(&line);
  return sorted;
}

// How many lines at the beginning of `now` are the end of `before`.
size_t Known(const Lines& before, const Lines& now) {
  const auto same = [](const v1::LogLine* a, const v1::LogLine* b) {
    return MessageDifferencer::Equals(*a, *b);
  };
  size_t known = std::min(before.size(), now.size());
  while (!std::equal(before.end() - static_cast<ptrdiff_t>(known), before.end(),
                     now.begin(), same)) {
    --known;
  }
  return known;
}

}  // namespace

std::vector<const v1::LogLine*> LinesSince(const LogLines& before,
                                           const LogLines& now) {
  const auto lines_before = BySource(before);
  std::map<v1::LogLine::Source, size_t> known;
  for (const auto& [source, lines] : BySource(now)) {
    const auto earlier = lines_before.find(source);
    if (earlier == lines_before.end()) continue;
    known[source] = Known(earlier->second, lines);
  }
  Lines since;
  for (const v1::LogLine& line : now) {
    size_t& left = known[line.source()];
    if (left > 0) {
      --left;
    } else {
      since.push_back(&line);
    }
  }
  return since;
}

}  // namespace paceline
