#include "common/security/token_table.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TokenLine(const std::string& who, const std::string& token) {
  return absl::StrCat(who, " sha256:", Sha256Hex(token), "\n");
}

TEST(TokenTableTest, KnowsWhoseTokenItIs) {
  const auto table = TokenTable::Parse(
      absl::StrCat("# people\n\n", TokenLine("alice admin", "old"),
                   TokenLine("alice admin", "new"), "  \t# workers\r\n",
                   TokenLine("pool-a\tworker ", "w"), "bob viewer sha256:",
                   absl::AsciiStrToUpper(Sha256Hex("b")), "  # until May"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 4u);
  EXPECT_TRUE(table->Match("old")->namespaces.all());
  const Identity alice{v1::ADMIN, "alice"};
  EXPECT_EQ(table->Match("old"), alice);
  EXPECT_EQ(table->Match("new"), alice);
  EXPECT_EQ(table->Match("w"), (Identity{v1::WORKER, "pool-a"}));
  EXPECT_EQ(table->Match("b"), (Identity{v1::VIEWER, "bob"}));
  for (const std::string& wrong :
       {std::string(), std::string("ol"), std::string("old "),
        std::string("OLD"), std::string("new\0", 4), Sha256Hex("old"),
        std::string(kMaxTokenBytes + 1, 'x')}) {
    EXPECT_EQ(table->Match(wrong), std::nullopt) << wrong;
  }
}

TEST(TokenTableTest, ARoleMayBeBoundToNamespaces) {
  const auto table = TokenTable::Parse(absl::StrCat(
      TokenLine("alice admin@vision+speech", "a"),
      TokenLine("bob viewer@vision", "b"), TokenLine("bob viewer", "c")));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(ToString(*table->Match("a")), "admin@speech+vision/alice");
  EXPECT_EQ(ToString(*table->Match("b")), "viewer@vision/bob");
  EXPECT_EQ(ToString(*table->Match("c")), "viewer/bob");
}

TEST(TokenTableTest, ATokenMayBeAsLongAsTheLimit) {
  const std::string token(kMaxTokenBytes, 'x');
  const auto table = TokenTable::Parse(TokenLine("a admin", token));
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->Match(token).has_value());
}

TEST(TokenTableTest, CommentsAloneAreATableWithoutTokens) {
  const auto table = TokenTable::Parse("# nobody\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->size(), 0u);
  EXPECT_EQ(table->Match("x"), std::nullopt);
}

TEST(TokenTableTest, AMalformedLineIsNamed) {
  const std::string hash = Sha256Hex("t");
  const struct {
    std::string line;
    const char* says;
  } kCases[] = {
      {"alice", "NAME ROLE sha256:HEX"},
      {"alice admin", "NAME ROLE sha256:HEX"},
      {"alice admin sha256:" + hash + " more", "NAME ROLE sha256:HEX"},
      {"al/ice admin sha256:" + hash, "a name has"},
      {std::string(64, 'a') + " admin sha256:" + hash, "a name has"},
      {"alice root sha256:" + hash, "'root' is no role"},
      {"alice admin@ sha256:" + hash, "'' is no namespace"},
      {"alice admin@Vision sha256:" + hash, "'Vision' is no namespace"},
      {"alice admin@vision,speech sha256:" + hash, "is no namespace"},
      {"alice admin@vision speech sha256:" + hash, "NAME ROLE sha256:HEX"},
      {"alice worker@vision sha256:" + hash, "only admin and viewer"},
      {"alice admin " + hash, "64 hexadecimal digits"},
      {"alice admin sha256:" + hash.substr(1), "64 hexadecimal digits"},
      {"alice admin sha256:" + hash + "0", "64 hexadecimal digits"},
      {"alice admin sha256:g" + hash.substr(1), "64 hexadecimal digits"},
      {"alice admin sha512:" + hash, "64 hexadecimal digits"},
      {TokenLine("bob viewer", "first"), "that of 'first' as well"},
  };
  for (const auto& c : kCases) {
    const auto table = TokenTable::Parse(
        absl::StrCat("# head\n", TokenLine("first admin", "first"), c.line));
    EXPECT_TRUE(absl::IsInvalidArgument(table.status())) << c.line;
    EXPECT_THAT(std::string(table.status().message()), HasSubstr("line 3: "));
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(c.says));
  }
}

TEST(TokenTableTest, ATokenInsteadOfItsHashIsNotRepeated) {
  const auto table = TokenTable::Parse("alice admin sha256:my-secret-token");
  EXPECT_THAT(std::string(table.status().message()),
              Not(HasSubstr("my-secret-token")));
}

TEST(TokenTableTest, GarbageIsRefusedNotFatal) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    std::string text = TokenLine("alice admin", "t");
    for (int i = 0; i < 8; ++i) {
      const size_t at = rng.Below(text.size());
      switch (rng.Below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          text.erase(at, rng.Below(5));
          break;
        default:
          text.insert(at, 1, static_cast<char>(rng.Below(256)));
      }
      if (text.empty()) break;
    }
    const auto table = TokenTable::Parse(text);
    if (!table.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(table.status()));
    }
  }
}

}  // namespace
}  // namespace paceline
