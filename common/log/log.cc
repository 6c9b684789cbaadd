#include "common/log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace paceline {
namespace {

std::string& Role() {
  static auto& role = *new std::string("paceline");
  return role;
}

std::atomic<LogRing*>& KeptLines() {
  static std::atomic<LogRing*> ring = nullptr;
  return ring;
}

LogEntry::Severity SeverityOf(absl::string_view level) {
  if (level == "info") return LogEntry::Severity::kInfo;
  if (level == "warning") return LogEntry::Severity::kWarning;
  if (level == "error") return LogEntry::Severity::kError;
  return LogEntry::Severity::kUnknown;
}

void Write(spdlog::level::level_enum level, absl::string_view message,
           const nlohmann::json& fields) {
  const char* const name = spdlog::level::to_string_view(level).data();
  KeepLogLine(name, message, fields);
  spdlog::default_logger_raw()->log(level, LogLine(name, message, fields));
}

}  // namespace

std::string LogLine(absl::string_view level, absl::string_view message,
                    const nlohmann::json& fields) {
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", absl::Now(),
                                  absl::UTCTimeZone());
  line["level"] = std::string(level);
  line["role"] = Role();
  line["message"] = std::string(message);
  for (const auto& [key, value] : fields.items()) line[key] = value;
  // A peer's text may be no UTF-8; a log line must not fail over it.
  return line.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

void StartLogging(const std::string& role) {
  Role() = role;
  auto logger = spdlog::stderr_logger_mt("paceline");
  logger->set_pattern("%v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

void KeepLogLines(LogRing* ring) {
  KeptLines().store(ring, std::memory_order_release);
}

void KeepLogLine(absl::string_view level, absl::string_view message,
                 const nlohmann::json& fields) {
  LogRing* const ring = KeptLines().load(std::memory_order_acquire);
  if (ring == nullptr) return;
  LogEntry entry;
  entry.time = absl::Now();
  entry.severity = SeverityOf(level);
  entry.message = std::string(message);
  for (const auto& [key, value] : fields.items()) {
    entry.fields.emplace_back(
        key, value.is_string()
                 ? value.get<std::string>()
                 : value.dump(-1, ' ', false,
                              nlohmann::json::error_handler_t::replace));
  }
  ring->Add(std::move(entry));
}

void LogInfo(absl::string_view message) {
  Write(spdlog::level::info, message, nlohmann::json::object());
}
void LogInfo(absl::string_view message, const nlohmann::json& fields) {
  Write(spdlog::level::info, message, fields);
}
void LogWarning(absl::string_view message) {
  Write(spdlog::level::warn, message, nlohmann::json::object());
}
void LogWarning(absl::string_view message, const nlohmann::json& fields) {
  Write(spdlog::level::warn, message, fields);
}
void LogError(absl::string_view message) {
  Write(spdlog::level::err, message, nlohmann::json::object());
}
void LogError(absl::string_view message, const nlohmann::json& fields) {
  Write(spdlog::level::err, message, fields);
}

}  // namespace paceline
