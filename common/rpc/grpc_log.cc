#include "common/rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "common/log/log.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

// What gRPC calls an error is one of a connection, as a handshake that fails:
// a call is lost by it, and no work, for calls are tried again.
absl::string_view LevelOf(gpr_log_severity severity) {
  return severity == GPR_LOG_SEVERITY_ERROR ? "warning" : "info";
}

}  // namespace

void LogWhatGrpcLogs() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    const absl::string_view level = LevelOf(line->severity);
    const nlohmann::json fields = {{"from", "grpc"}};
    KeepLogLine(level, line->message, fields);
    WriteAll(STDERR_FILENO, LogLine(level, line->message, fields) + "\n");
  });
}

void SilenceGrpcLog() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace paceline
