#include "services/simulator/jitter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

Jitter Parse(absl::string_view text) {
  const absl::StatusOr<Jitter> jitter = ParseJitter(text);
  EXPECT_TRUE(jitter.ok()) << jitter.status();
  return jitter.value_or(Jitter());
}

TEST(JitterTest, ReadsEveryKind) {
  EXPECT_EQ(Parse("none").kind, Jitter::Kind::kNone);
  EXPECT_EQ(Parse("normal:sd=0.1").kind, Jitter::Kind::kNormal);
  EXPECT_EQ(Parse("normal:sd=0.1").spread, 0.1);
  EXPECT_EQ(Parse("lognormal:sigma=0.3").kind, Jitter::Kind::kLognormal);
  EXPECT_EQ(Parse("lognormal:sigma=0.3").spread, 0.3);
  EXPECT_EQ(Parse("exponential").kind, Jitter::Kind::kExponential);
  const Jitter bursts = Parse("bursts:every=60s,for=500ms,factor=2.5");
  EXPECT_EQ(bursts.kind, Jitter::Kind::kNone);
  ASSERT_TRUE(bursts.bursts.has_value());
  EXPECT_EQ(bursts.bursts->every, 60'000'000'000);
  EXPECT_EQ(bursts.bursts->length, 500'000'000);
  EXPECT_EQ(bursts.bursts->factor, 2.5);
  EXPECT_FALSE(bursts.bursts->first.has_value());
  const Jitter both = Parse("normal:sd=0.2+bursts:every=9s,for=1s,first=3s");
  EXPECT_EQ(both.spread, 0.2);
  EXPECT_EQ(both.bursts->factor, 4);
  EXPECT_EQ(both.bursts->first, 3'000'000'000);
}

TEST(JitterTest, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "want none, normal"},
      {"gamma:k=2", "want none, normal"},
      {"normal", "sd=... is missing"},
      {"normal:sigma=1", "sigma"},
      {"normal:sd=-1", "sd"},
      {"normal:sd=1.1", "sd"},
      {"lognormal:sigma=4", "sigma"},
      {"exponential:mean=3", "mean"},
      {"bursts:every=60s", "for=... is missing"},
      {"bursts:every=1s,for=2s", "below every"},
      {"bursts:every=1s,for=0s", "above 0"},
      {"bursts:every=10us,for=1us", "every must be 1ms or more"},
      {"bursts:every=9s,for=1s,factor=0.5", "factor"},
      {"bursts:every=9s,for=1s,first=x", "first \"x\": no duration"},
      {"normal:sd=0.1+exponential", "'+' joins"},
  };
  for (const auto& [text, message] : kCases) {
    const absl::Status status = ParseJitter(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace paceline
