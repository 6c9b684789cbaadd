#include "common/rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/log/log.h"
#include "common/unique_fd.h"

namespace paceline {

void LogWhatGrpcLogs() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    WriteAll(STDERR_FILENO,
             LogLine("info", line->message, {{"from", "grpc"}}) + "\n");
  });
}

void SilenceGrpcLog() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace paceline
