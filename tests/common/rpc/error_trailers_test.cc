// Errors with details as they really travel, in HTTP/2 trailers.

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/scripted_cluster.h"

namespace paceline {
namespace {

TEST(ErrorTrailersTest, ASmallErrorArrivesAsItWas) {
  const absl::Status sent = InvalidField("name", "n\xc3\xb6 such % worker");
  const ScriptedCluster server({}, [&](const std::string&) { return sent; });
  EXPECT_EQ(GetWorker(server.Connect(), "x"), sent);
}

// Every size up to far more than fits: the client always sees our error and
// its reason, never one of the transport's about the size of metadata.
TEST(ErrorTrailersTest, ErrorsOfAnySizeArrive) {
  const ScriptedCluster server({}, [](const std::string& name) {
    int size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(name, &size));
    absl::Status status = InvalidFields(std::vector<FieldViolation>(
        40, {"job.spec.x", std::string(size, '%')}));
    return WithReason(status, "REASON", {{"x", std::string(size, 'x')}});
  });
  const auto channel = server.Connect();
  for (int size = 0; size < 20'000; size += size < 400 ? 7 : 1'500) {
    const absl::Status status = GetWorker(channel, absl::StrCat(size));
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << size << ": " << status;
    ASSERT_EQ(ReasonOf(status), "REASON") << size;
  }
}

TEST(ErrorTrailersTest, AMessageOfAnySizeAndBytesArrives) {
  const ScriptedCluster server({}, [](const std::string& name) {
    int size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(name, &size));
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(i * 7);
    return absl::AbortedError(bytes);
  });
  const auto channel = server.Connect();
  for (int size = 1; size < 100'000; size *= 3) {
    EXPECT_TRUE(absl::IsAborted(GetWorker(channel, absl::StrCat(size))))
        << size;
  }
}

}  // namespace
}  // namespace paceline
