#include "common/trace_context.h"

#include <string>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr char kId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST(TraceContextTest, ThereAndBack) {
  const auto context = ParseTraceparent(
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->trace_id, kId);
  EXPECT_EQ(context->flags, "01");
  EXPECT_EQ(ToTraceparent(*context, 0xab),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01");
  EXPECT_EQ(ParseTraceparent(ToTraceparent(*context, ~uint64_t{0})), context);
}

TEST(TraceContextTest, WhatIsNone) {
  const std::string id = kId;
  const std::string texts[] = {
      "",
      "00",
      "00-" + id,
      "00-" + id + "-00f067aa0ba902b7",
      "00-" + id + "-00f067aa0ba902b7-",
      "00-" + id + "-00f067aa0ba902b7-0",
      "00-" + id + "-00f067aa0ba902b7-0g",
      "00-" + id + "-00f067aa0ba902b7-011",
      "00-" + id + "-00f067aa0ba902b7-01-more",  // Version 00 ends there.
      "cc-" + id + "-00f067aa0ba902b7-01.more",
      "ff-" + id + "-00f067aa0ba902b7-01",
      "0x-" + id + "-00f067aa0ba902b7-01",
      "00_" + id + "-00f067aa0ba902b7-01",
      "00-" + id + "-0000000000000000-01",
      "00-" + id + "-00f067aa0ba902b-01",
      "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"};
  for (const std::string& text : texts) {
    EXPECT_FALSE(ParseTraceparent(text).has_value()) << text;
    EXPECT_EQ(TraceIdOf(text), "");
    EXPECT_EQ(CutTraceparent(text), "");
  }
}

TEST(TraceContextTest, LaterVersionsMayGoOn) {
  const std::string id = kId;
  EXPECT_EQ(TraceIdOf("cc-" + id + "-00f067aa0ba902b7-01-more"), id);
  EXPECT_EQ(TraceIdOf("cc-" + id + "-00f067aa0ba902b7-01"), id);
  EXPECT_EQ(CutTraceparent("cc-" + id + "-00f067aa0ba902b7-01-\xff\xfe"),
            "00-" + id + "-00f067aa0ba902b7-01");
}

TEST(TraceContextTest, ANewOneIsValidWhateverChanceSays) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const TraceContext context = NewTrace(number, number);
    EXPECT_EQ(ParseTraceparent(ToTraceparent(context, 1)), context);
  }
}

}  // namespace
}  // namespace paceline
