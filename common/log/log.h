#ifndef PACELINE_COMMON_LOG_LOG_H_
#define PACELINE_COMMON_LOG_LOG_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "common/log/log_ring.h"

namespace paceline {

// Logs are JSON lines on stderr: time, level, role, message and whatever fields
// the caller adds. Thread-safe.
//
// What costs somebody work is a warning, such as a worker that is lost, or an
// error, such as a job that fails: whoever looks for these alone misses nothing
// that they would have to mend.

// Names this process in every line, "worker w0". Called once, by main.
void StartLogging(const std::string& role);

// From now on `ring` gets every line as well; null: none does. It outlives all
// logging. Safe from any thread.
void KeepLogLines(LogRing* ring);

// One such line without its end, and what makes it known to the ring; for who
// has to write it himself. `level`: "info", "warning" or "error".
std::string LogLine(absl::string_view level, absl::string_view message,
                    const nlohmann::json& fields);
void KeepLogLine(absl::string_view level, absl::string_view message,
                 const nlohmann::json& fields);

void LogInfo(absl::string_view message);
void LogInfo(absl::string_view message, const nlohmann::json& fields);
void LogWarning(absl::string_view message);
void LogWarning(absl::string_view message, const nlohmann::json& fields);
void LogError(absl::string_view message);
void LogError(absl::string_view message, const nlohmann::json& fields);

}  // namespace paceline

#endif  // PACELINE_COMMON_LOG_LOG_H_
