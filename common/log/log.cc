#include "common/log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace paceline {
namespace {

std::string& Role() {
  static auto& role = *new std::string("paceline");
  return role;
}

void Write(spdlog::level::level_enum level, absl::string_view message,
           const nlohmann::json& fields) {
  spdlog::default_logger_raw()->log(
      level,
      LogLine(spdlog::level::to_string_view(level).data(), message, fields));
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
