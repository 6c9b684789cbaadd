#include "common/rpc/wire_format.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "common/rpc/grpc_status.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {
namespace {

TEST(WireFormatTest, EveryElementTypeComesBackAsItWas) {
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kInt8}) {
    EXPECT_EQ(*FromWire(ToWire(dtype)), dtype);
  }
  EXPECT_EQ(ToWire(DType::kBF16), v1::BF16);
  EXPECT_EQ(ToWire(DType::kInt8), v1::INT8);
}

TEST(WireFormatTest, OnlyGradientsOnTheirWayAreInt8) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_EQ(PulledAs(dtype), dtype);
    EXPECT_EQ(HeldAs(dtype), dtype);
  }
  EXPECT_EQ(PulledAs(DType::kInt8), DType::kBF16);
  EXPECT_EQ(HeldAs(DType::kInt8), DType::kF32);
}

TEST(WireFormatTest, WhatIsNotKnownIsRefused) {
  for (const int format : {0, 5, -1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        FromWire(static_cast<v1::WireFormat>(format)).status()));
  }
}

TEST(WireFormatTest, AMemberNamesEveryFormatThatNotAllKnow) {
  v1::WorkerHello hello;
  const v1::WorkerHello of_before;
  NameFormats(hello);
  for (int format = v1::FP32; format <= v1::WireFormat_MAX; ++format) {
    const auto wire = static_cast<v1::WireFormat>(format);
    EXPECT_TRUE(KnowsFormat(hello.formats(), wire)) << format;
    EXPECT_EQ(KnowsFormat(of_before.formats(), wire), KnownToAll(wire));
  }
  EXPECT_FALSE(KnownToAll(v1::INT8));
}

TEST(ReplaceInvalidUtf8Test, Table) {
  const struct {
    std::string in, out;
  } kCases[] = {
      {"", ""},
      {"plain\n\x7f", "plain\n\x7f"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
      {"\x80", "?"},
      {"\xff\xfe", "??"},
      {"\xc3", "?"},
      {"\xc3z", "?z"},
      {"\xe2\x82", "??"},
      {"\xe2\x82z", "??z"},
      {"\xf0\x9f\x98", "???"},
      {"\xc0\xaf", "??"},            // '/', longer than needed.
      {"\xe0\x80\xaf", "???"},       // The same.
      {"\xf0\x80\x80\xaf", "????"},  // The same.
      {"\xed\xa0\x80", "???"},       // A surrogate.
      {"\xf4\x90\x80\x80", "????"},  // Above U+10FFFF.
      {"\xf8\x88\x80\x80\x80", "?????"},
      {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ReplaceInvalidUtf8(c.in), c.out);
  }
}

TEST(ShortenForHeaderTest, Table) {
  EXPECT_EQ(ShortenForHeader("", 3), "");
  EXPECT_EQ(ShortenForHeader("abc", 3), "abc");
  EXPECT_EQ(ShortenForHeader("abcd", 3), "...");
  EXPECT_EQ(ShortenForHeader("abcdefgh", 6), "abc...");
  EXPECT_EQ(ShortenForHeader("%%%%", 12), "%%%%");  // Three bytes each.
  EXPECT_EQ(ShortenForHeader("%%%%", 11), "%%...");
  EXPECT_EQ(ShortenForHeader("\xc3\xa9\xc3\xa9", 12), "\xc3\xa9\xc3\xa9");
  EXPECT_EQ(ShortenForHeader("\xc3\xa9\xc3\xa9", 11), "\xc3\xa9...");
  EXPECT_EQ(ShortenForHeader("\xc3\xa9\xc3\xa9", 8), "...");
}

TEST(ShortenForHeaderTest, AnyBytesFitAndStayUtf8) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    std::string bytes(rng.Below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.Below(256));
    const std::string text = ReplaceInvalidUtf8(bytes);
    EXPECT_EQ(ReplaceInvalidUtf8(text), text);
    const size_t max = 3 + rng.Below(400);
    const std::string cut = ShortenForHeader(text, max);
    EXPECT_EQ(ReplaceInvalidUtf8(cut), cut);
    EXPECT_EQ(ShortenForHeader(cut, max), cut);
  }
}

}  // namespace

}  // namespace paceline
