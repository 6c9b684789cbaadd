#include "common/field_checks.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

TEST(FieldChecksTest, NothingWrongIsOk) {
  FieldChecks checks;
  checks.NotEmpty("a", "x");
  checks.NotLonger("b", "xx", 2);
  checks.NoMoreCharacters("c", "\xc3\xa4\xc3\xa4", 2);
  checks.InRange("d", int64_t{3}, 3, 3);
  checks.InRange("e", 0.5, 0, 1);
  checks.Take("f", absl::OkStatus());
  checks.TakeAll(absl::OkStatus());
  EXPECT_TRUE(checks.ok());
  EXPECT_TRUE(checks.status().ok());
}

TEST(FieldChecksTest, EverythingWrongIsCollectedInOrder) {
  FieldChecks checks;
  checks.NotEmpty("a", "");
  checks.NotLonger("b", "xxx", 2);
  checks.NoMoreCharacters("c", "\xc3\xa4\xc3\xa4\xc3\xa4", 2);
  checks.InRange("d", int64_t{4}, 1, 3);
  checks.InRange("e", std::numeric_limits<double>::quiet_NaN(), 0, 1);
  checks.Take("f", absl::InvalidArgumentError("is odd"));
  checks.TakeAll(InvalidFields({{"g", "is one"}, {"h", "is two"}}));
  EXPECT_THAT(
      ViolationsOf(checks.status()),
      ElementsAre(
          FieldViolation{"a", "is required"},
          FieldViolation{"b", "has 3 bytes; at most 2 are allowed"},
          FieldViolation{"c", "has 3 characters; at most 2 are allowed"},
          FieldViolation{"d", "is 4; must be from 1 to 3"},
          FieldViolation{"e", "is nan; must be from 0 to 1"},
          FieldViolation{"f", "is odd"}, FieldViolation{"g", "is one"},
          FieldViolation{"h", "is two"}));
}

TEST(FieldChecksTest, LongTextsAreCutBetweenCharacters) {
  FieldChecks checks;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a\xe2\x82\xac";  // 4 bytes each.
  checks.Take("f", absl::InvalidArgumentError(text));
  const std::string cut = ViolationsOf(checks.status()).at(0).description;
  EXPECT_LE(cut.size(), 600);
  EXPECT_GT(cut.size(), 596);
  EXPECT_EQ(text.substr(0, cut.size()), cut);
  EXPECT_NE(static_cast<unsigned char>(text[cut.size()]) & 0xc0, 0x80);
}

TEST(QuotedTest, EscapesAndCuts) {
  EXPECT_EQ(Quoted("a\nb\""), "\"a\\nb\\\"\"");
  EXPECT_EQ(Quoted("\xc3\xa4"), "\"\xc3\xa4\"");
  EXPECT_EQ(Quoted(std::string(100, 'x')),
            "\"" + std::string(80, 'x') + "...\"");
}

TEST(FieldPathTest, NeedsNoParent) {
  EXPECT_EQ(FieldPath("job.spec", "seed"), "job.spec.seed");
  EXPECT_EQ(FieldPath("", "seed"), "seed");
}

}  // namespace
}  // namespace paceline
