#include <string>

#include "absl/strings/str_cat.h"
#include "common/security/token_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/log_capture.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kReadOften = absl::Milliseconds(2);

std::string Line(const std::string& who, const std::string& token) {
  return absl::StrCat(who, " sha256:", Sha256Hex(token), "\n");
}

TEST(TokenFileTest, AFileThatCannotBeUsedIsRefused) {
  const TestFolder folder;
  EXPECT_TRUE(absl::IsNotFound(
      OpenTokenFile(folder.Path("none"), kReadOften).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      OpenTokenFile(folder.Write("empty", ""), kReadOften).status()));
  const std::string bad = folder.Write("bad", "\nalice admin t\n");
  const auto file = OpenTokenFile(bad, kReadOften);
  EXPECT_TRUE(absl::IsInvalidArgument(file.status()));
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr(absl::StrCat(bad, ": line 2: ")));
}

TEST(TokenFileTest, TakesWhatIsNewAndForgetsWhatIsGone) {
  const TestFolder folder;
  const std::string path = folder.Write("tokens", Line("alice admin", "a"));
  const auto file = OpenTokenFile(path, kReadOften);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->Get()->Match("a").has_value());
  folder.Write("tokens", Line("bob viewer", "b"));
  EXPECT_TRUE(
      Eventually([&] { return (*file)->Get()->Match("b").has_value(); }));
  EXPECT_FALSE((*file)->Get()->Match("a").has_value());
  // Of equal length, so that neither size nor time needs to differ.
  folder.Write("tokens", Line("bob viewer", "c"));
  EXPECT_TRUE(
      Eventually([&] { return (*file)->Get()->Match("c").has_value(); }));
  folder.Write("tokens", "# nobody any more\n");
  EXPECT_TRUE(
      Eventually([&] { return !(*file)->Get()->Match("c").has_value(); }));
}

TEST(TokenFileTest, StaysAsItWasWhileTheFileCannotBeUsed) {
  const TestFolder folder;
  const std::string path = folder.Write("tokens", Line("alice admin", "a"));
  const auto file = OpenTokenFile(path, kReadOften);
  ASSERT_TRUE(file.ok()) << file.status();
  const LogCapture log;
  int warnings = 0;
  for (const std::string& bad :
       {std::string("alice admin"), std::string(),
        Line("bob viewer", "b") + "x", std::string("\xff\x00\x01", 3)}) {
    folder.Write("tokens", bad);
    ++warnings;
    EXPECT_TRUE(
        Eventually([&] { return log.Count("cannot be used") == warnings; }));
    EXPECT_TRUE((*file)->Get()->Match("a").has_value());
    EXPECT_FALSE((*file)->Get()->Match("b").has_value());
  }
  folder.Write("tokens", Line("carol admin", "c"));
  EXPECT_TRUE(
      Eventually([&] { return (*file)->Get()->Match("c").has_value(); }));
  EXPECT_EQ(log.Count("cannot be used"), warnings);  // Not at every look.
}

}  // namespace
}  // namespace paceline
