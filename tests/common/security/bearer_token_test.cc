#include "common/security/bearer_token.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kOften = absl::Milliseconds(2);

TEST(ParseBearerTokenTest, Table) {
  for (const char* const text :
       {"t0k-_.~+/=", "t0k-_.~+/=\n", " t0k-_.~+/= "}) {
    const auto token = ParseBearerToken(text);
    ASSERT_TRUE(token.ok()) << text;
    EXPECT_EQ(*token, "t0k-_.~+/=");
  }
  for (const std::string& text :
       {std::string(), std::string(" \n"), std::string("two words"),
        std::string("two\nlines"), std::string("t\xc3\xb6ken"),
        std::string("a\0b", 3), std::string("a\x7f"), std::string(4097, 'x')}) {
    const auto token = ParseBearerToken(text);
    EXPECT_TRUE(absl::IsInvalidArgument(token.status())) << text;
    EXPECT_THAT(std::string(token.status().message()),
                Not(HasSubstr("two words")));
  }
}

TEST(BearerTokenTest, IsReadAgain) {
  const TestFolder folder;
  const auto token = OpenBearerToken(folder.Write("token", "one\n"), kOften);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(*(*token)->Get(), "one");
  folder.Write("token", "two words");  // Is not taken.
  folder.Write("token", "two");
  EXPECT_TRUE(Eventually([&] { return *(*token)->Get() == "two"; }));
}

TEST(BearerTokenTest, AFileThatCannotBeUsedIsRefused) {
  const TestFolder folder;
  EXPECT_TRUE(
      absl::IsNotFound(OpenBearerToken(folder.Path("none"), kOften).status()));
  const std::string bad = folder.Write("bad", "two words");
  const auto token = OpenBearerToken(bad, kOften);
  EXPECT_TRUE(absl::IsInvalidArgument(token.status()));
  EXPECT_THAT(std::string(token.status().message()), HasSubstr(bad));
}

}  // namespace
}  // namespace paceline
