#include "common/log/told_log.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/proto_time.h"

namespace paceline {
namespace {

v1::LogLine::Severity SeverityOf(LogEntry::Severity severity) {
  switch (severity) {
    case LogEntry::Severity::kUnknown:
      return v1::LogLine::SEVERITY_UNSPECIFIED;
    case LogEntry::Severity::kInfo:
      return v1::LogLine::INFO;
    case LogEntry::Severity::kWarning:
      return v1::LogLine::WARNING;
    case LogEntry::Severity::kError:
      return v1::LogLine::ERROR;
  }
  return v1::LogLine::SEVERITY_UNSPECIFIED;
}

v1::LogLine LineOf(LogEntry& entry, v1::LogLine::Source source) {
  v1::LogLine line;
  *line.mutable_time() = ToProto(entry.time);
  line.set_severity(SeverityOf(entry.severity));
  line.set_source(source);
  line.set_message(std::move(entry.message));
  for (auto& [key, value] : entry.fields) {
    (*line.mutable_fields())[key] = std::move(value);
  }
  line.set_cut(entry.cut);
  return line;
}

}  // namespace

v1::LogTold TellLog(const v1::TellLog& question,
                    absl::Span<const KeptLog> logs) {
  const size_t most = question.lines() == 0 ? std::numeric_limits<size_t>::max()
                                            : question.lines();
  struct Line {
    LogEntry entry;
    v1::LogLine::Source source;
  };
  std::vector<Line> lines;
  for (const KeptLog& log : logs) {
    for (LogEntry& entry : log.ring->Last(most)) {
      lines.push_back({std::move(entry), log.source});
    }
  }
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const Line& a, const Line& b) { return a.entry.time < b.entry.time; });
  v1::LogTold told;
  told.set_question(question.question());
  for (size_t i = lines.size() - std::min(most, lines.size()); i < lines.size();
       ++i) {
    *told.add_lines() = LineOf(lines[i].entry, lines[i].source);
  }
  return told;
}

}  // namespace paceline
