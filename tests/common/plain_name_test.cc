#include "common/plain_name.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(PlainNameTest, HasLettersDigitsAndThreeSigns) {
  for (const std::string& name :
       {std::string("w0"), std::string("Node-3.local_0"), std::string("7"),
        std::string(63, 'a')}) {
    EXPECT_TRUE(IsPlainName(name)) << name;
    EXPECT_TRUE(CheckPlainName("--name", name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"),
        std::string("-a"), std::string(".a"), std::string("_a"),
        std::string(64, 'a'), std::string("p\x1b[31m"), std::string("a\n"),
        std::string("\xc3\xa4"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(IsPlainName(name)) << name;
  }
}

TEST(PlainNameTest, TheErrorShowsNothingThatATerminalWouldObey) {
  const absl::Status status = CheckPlainName("--pool", "p\x1b[31m");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "--pool is \"p\\x1b[31m\"; want 1 to 63 letters, digits, '-', '_' "
            "and '.', beginning with a letter or a digit");
  EXPECT_THAT(
      std::string(CheckPlainName("x", std::string(9000, '%')).message()),
      AllOf(HasSubstr("%%...\";"), Not(HasSubstr(std::string(81, '%')))));
}

}  // namespace
}  // namespace paceline
