#include "common/flag_checks.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

struct Flags {
  double number = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// Empty, or what the program says.
std::string Complaint(const std::string& words, Flags& flags) {
  CLI::App app;
  app.add_option("--number", flags.number)->check(IsNumber());
  app.add_option("--count", flags.count)->check(NotNegative());
  app.add_option("--bytes", flags.bytes)->transform(AsBytes());
  try {  // CLI11's only way to say it.
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(FlagChecksTest, WhatIsMeantPasses) {
  Flags flags;
  EXPECT_EQ(Complaint("--number -1.5 --count 7 --bytes 100GiB", flags), "");
  EXPECT_EQ(flags.number, -1.5);
  EXPECT_EQ(flags.count, 7u);
  EXPECT_EQ(flags.bytes, uint64_t{100} << 30);
  EXPECT_EQ(Complaint("--bytes 0", flags), "");
  EXPECT_EQ(flags.bytes, 0u);
}

TEST(FlagChecksTest, WhatIsNotDoesNot) {
  Flags flags;
  EXPECT_THAT(Complaint("--number nan", flags), HasSubstr("is not a number"));
  EXPECT_THAT(Complaint("--count -1", flags), HasSubstr("-1 is negative"));
  for (const char* const bytes : {"-1", "-1b", "-1GiB", "- 1"}) {
    EXPECT_THAT(Complaint(std::string("--bytes '") + bytes + "'", flags),
                HasSubstr("is negative"))
        << bytes;
  }
  EXPECT_NE(Complaint("--bytes much", flags), "");
  EXPECT_NE(Complaint("--bytes 17179869184GiB", flags), "");
}

}  // namespace
}  // namespace paceline
