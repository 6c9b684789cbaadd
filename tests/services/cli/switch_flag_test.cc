#include "services/cli/switch_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using testing::HasSubstr;

TEST(SwitchFlagTest, ReadsSharesAndSortsThem) {
  const auto switches = ParseSwitches({"50%=ssp:s=3", "12.5%=asp", "0%=bsp"});
  ASSERT_TRUE(switches.ok()) << switches.status();
  ASSERT_EQ(switches->size(), 3);
  EXPECT_EQ((*switches)[0].paradigm, "bsp");
  EXPECT_EQ((*switches)[1].share, 0.125);
  EXPECT_EQ((*switches)[2].paradigm, "ssp:s=3");
}

TEST(SwitchFlagTest, SaysWhatIsWrong) {
  for (const char* const value : {"50=asp", "asp", "50%", "50%=", "100%=asp",
                                  "-1%=asp", "nan%=asp", "x%=asp", ""}) {
    const auto switches = ParseSwitches({value});
    EXPECT_EQ(switches.status().code(), absl::StatusCode::kInvalidArgument)
        << value;
    EXPECT_THAT(std::string(switches.status().message()),
                HasSubstr("SHARE%=PARADIGM"))
        << value;
  }
  EXPECT_THAT(std::string(ParseSwitches({"5%=ass"}).status().message()),
              HasSubstr("unknown paradigm"));
}

}  // namespace
}  // namespace paceline
