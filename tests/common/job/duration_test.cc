#include "common/job/duration.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(ParseDurationTest, TakesUnitsAndPlainSeconds) {
  EXPECT_EQ(*ParseDuration("--lease", "20ms"), absl::Milliseconds(20));
  EXPECT_EQ(*ParseDuration("--lease", "1m30s"), absl::Seconds(90));
  EXPECT_EQ(*ParseDuration("--lease", "10"), absl::Seconds(10));
  EXPECT_EQ(*ParseDuration("--lease", "1.9"), absl::Milliseconds(1900));
  EXPECT_EQ(*ParseDuration("--lease", "0"), absl::ZeroDuration());
  EXPECT_EQ(*ParseDuration("--lease", "24h"), absl::Hours(24));
}

TEST(ParseDurationTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  for (const std::string text : {"", "fast", "10 s", "nan", "1,5"}) {
    const absl::Status status = ParseDuration("--lease", text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("--lease \"" + text + "\": no duration; write"));
  }
  for (const std::string text : {"-1s", "-1", "25h", "1e300", "inf", "-inf"}) {
    const absl::Status status = ParseDuration("--lease", text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("--lease " + text + ": must be from 0 to 24h"));
  }
  EXPECT_THAT(std::string(ParseDuration("every", "1ms", absl::Milliseconds(2))
                              .status()
                              .message()),
              HasSubstr("every 1ms: must be from 2ms to 24h"));
}

}  // namespace
}  // namespace paceline
