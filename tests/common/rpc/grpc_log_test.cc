#include "common/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

// What it logs for that, as our line.
std::string LineOf(gpr_log_severity severity) {
  testing::internal::CaptureStderr();
  gpr_log("some.cc", 1, severity, "%s", "a handshake failed");
  return testing::internal::GetCapturedStderr();
}

TEST(GrpcLogTest, ItsErrorsAreWarnings) {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO);
  LogWhatGrpcLogs();
  EXPECT_THAT(LineOf(GPR_LOG_SEVERITY_ERROR),
              HasSubstr(R"("level":"warning")"));
  EXPECT_THAT(LineOf(GPR_LOG_SEVERITY_INFO), HasSubstr(R"("level":"info")"));
  EXPECT_THAT(LineOf(GPR_LOG_SEVERITY_INFO),
              HasSubstr(R"("message":"a handshake failed","from":"grpc")"));
  gpr_set_log_function(nullptr);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
}

}  // namespace
}  // namespace paceline
