#include "common/metrics/serve_monitoring.h"

#include <civetweb.h>
#include <prometheus/registry.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metrics/series.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Pair;

// The status code and the body.
std::pair<int, std::string> Get(int port, const std::string& path) {
  char error[256] = "";
  mg_connection* const connection =
      mg_download("127.0.0.1", port, /*use_ssl=*/0, error, sizeof(error),
                  "GET %s HTTP/1.0\r\n\r\n", path.c_str());
  if (connection == nullptr) {
    ADD_FAILURE() << error;
    return {};
  }
  std::string body;
  char part[4096];
  for (int read = 0; (read = mg_read(connection, part, sizeof(part))) > 0;) {
    body.append(part, read);
  }
  const int code = mg_get_response_info(connection)->status_code;
  mg_close_connection(connection);
  return {code, body};
}

// One test, for it can be served once in a process.
TEST(ServeMonitoringTest, MetricsHealthAndReadiness) {
  const auto registry = std::make_shared<prometheus::Registry>();
  GaugeSeries(*registry, "paceline_test_things", "Things.").Set(3);
  const auto readiness = std::make_shared<Readiness>();
  const auto port = ServeMonitoring("127.0.0.1:0", {registry}, readiness);
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_THAT(Get(*port, "/metrics"),
              Pair(200, AllOf(HasSubstr("\npaceline_test_things 3\n"),
                              HasSubstr("process_cpu_seconds_total"))));
  EXPECT_THAT(Get(*port, "/healthz"), Pair(200, "ok\n"));
  EXPECT_THAT(Get(*port, "/readyz"), Pair(503, "it is starting\n"));
  readiness->Set(absl::OkStatus());
  EXPECT_THAT(Get(*port, "/readyz"), Pair(200, "ok\n"));
  readiness->Set(absl::UnavailableError("it is 100% busy: %s"));
  EXPECT_THAT(Get(*port, "/readyz"), Pair(503, "it is 100% busy: %s\n"));
  EXPECT_THAT(Get(*port, "/healthz"), Pair(200, "ok\n"));
  EXPECT_EQ(Get(*port, "/else").first, 404);

  const auto taken =
      ServeMonitoring(absl::StrCat("127.0.0.1:", *port), {registry}, readiness);
  EXPECT_TRUE(absl::IsUnavailable(taken.status())) << taken.status();
}

}  // namespace
}  // namespace paceline
