#include "common/safetensors/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using Type = SafetensorsType;

// The JSON of a formatted header.
std::string Json(const std::string& formatted) {
  return formatted.substr(kSafetensorsPrefix);
}

TEST(SafetensorsHeaderTest, ParsesWhatItFormats) {
  std::vector<SafetensorsTensor> tensors = {
      {"steps", Type::kI64, {1}},
      {"conv1.weight", Type::kF32, {6, 1, 5, 5}},
      {"scalar", Type::kBF16, {}},
      {"none", Type::kF16, {3, 0}},
      {"\"quoted\" \xC3\xA4", Type::kU8, {7}}};
  const auto formatted =
      FormatSafetensorsHeader({{"format", "test"}}, absl::MakeSpan(tensors));
  ASSERT_TRUE(formatted.ok()) << formatted.status();
  EXPECT_EQ(formatted->size() % 8, 0u) << "the data begin aligned";
  EXPECT_EQ(tensors[1].begin, 8u);
  EXPECT_EQ(tensors[1].end, 8u + 6 * 25 * 4);
  const uint64_t data = tensors.back().end;
  const auto size = ParseHeaderSize(*formatted, formatted->size() + data);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(*size + kSafetensorsPrefix, formatted->size());
  const auto parsed = ParseSafetensorsHeader(Json(*formatted), data);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->tensors, tensors);
  EXPECT_EQ(parsed->metadata.at("format"), "test");
}

TEST(SafetensorsHeaderTest, ReadsAnotherWritersOrderAndSpacing) {
  const std::string json = R"({ "b": {"data_offsets":[4, 8], "shape":[2],
      "dtype":"F16"}, "__metadata__": {"k": "v"},
      "a": {"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}   )";
  const auto parsed = ParseSafetensorsHeader(json, 8);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->tensors.size(), 2u);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[1].name, "b");
}

struct Case {
  std::string json;
  uint64_t data;
  const char* message;
};

// Of 8 bytes.
constexpr char kTensorA[] =
    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";

std::vector<Case> Misshapen() {
  return {
      {"", 0, "does not begin with {"},
      {" {}", 0, "does not begin with {"},
      {"[]", 0, "does not begin with {"},
      {"{", 0, "no JSON at byte"},
      {"{}x", 0, "no JSON at byte"},
      {"{" + std::string(kTensorA) + "}}", 8, "no JSON at byte"},
      {"{" + std::string(kTensorA) + "}", 7, "it has been cut off"},
      {"{" + std::string(kTensorA) + "}", 9, "something is appended"},
      {"{" + std::string(kTensorA) + "," + std::string(kTensorA) + "}", 8,
       "\"a\": it is there twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],)"
       R"("data_offsets":[0,8]}})",
       8, "\"dtype\" is there twice"},
      {R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8,
       "dtype \"F31\" is unknown"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
       "not the size of F32 [3]"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8,
       "a negative number"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8,
       "not whole"},
      {R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", 8,
       "a string stands where"},
      {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8,
       "an array stands where"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8,
       "a number stands where"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}})", 8,
       "needs dtype, shape and two"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "needs dtype"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8,
       "lies at [8, 0)"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8,
       "\"x\" is no part of a tensor"},
  };
}

std::vector<Case> Misplaced() {
  return {
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
       R"("data_offsets":[0,0]}})",
       0, "not the size"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551616],)"
       R"("data_offsets":[0,8]}})",
       8, "not whole"},
      {"{" + std::string(kTensorA) +
           R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})",
       10, "tensors overlap"},
      {"{" + std::string(kTensorA) +
           R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[9,13]}})",
       13, "there is a hole"},
      {R"({"a":3})", 0, "a number stands where"},
      {R"({"a":null})", 0, "null stands where"},
      {R"({"__metadata__":{"k":1}})", 0, "a number stands where"},
      {R"({"__metadata__":{"k":{}}})", 0, "an object stands where"},
      {R"({"__metadata__":[]})", 0, "an array stands where"},
      {"{\"\xFF\":{}}", 0, "no JSON at byte"},
      {absl::StrCat("{\"a\":", std::string(100'000, '[')), 0,
       "an array stands where"},
  };
}

void ExpectRefused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto parsed = ParseSafetensorsHeader(c.json, c.data);
    EXPECT_EQ(parsed.status().code(), StatusCode::kDataLoss) << c.json;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(c.message))
        << c.json.substr(0, 200);
  }
}

TEST(SafetensorsHeaderTest, RefusesWhatTheFormatForbids) {
  ExpectRefused(Misshapen());
  ExpectRefused(Misplaced());
}

TEST(SafetensorsHeaderTest, RefusesAnImpossibleSize) {
  const auto with = [](uint64_t size) {
    std::string prefix(8, '\0');
    for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> 8 * i);
    return prefix;
  };
  EXPECT_EQ(*ParseHeaderSize(with(100), 108), 100u);
  EXPECT_EQ(ParseHeaderSize(with(101), 108).status().code(),
            StatusCode::kDataLoss);
  EXPECT_THAT(std::string(ParseHeaderSize(with(100'000'001), uint64_t{1} << 40)
                              .status()
                              .message()),
              HasSubstr("at most 100000000"));
  EXPECT_EQ(ParseHeaderSize(with(~uint64_t{0}), 100).status().code(),
            StatusCode::kDataLoss);
}

TEST(SafetensorsHeaderTest, FormatsNothingThatCannotBeRead) {
  const auto code = [](std::vector<SafetensorsTensor> tensors) {
    return FormatSafetensorsHeader({}, absl::MakeSpan(tensors)).status().code();
  };
  EXPECT_EQ(code({{"a", Type::kU8, {1}}, {"a", Type::kU8, {1}}}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"__metadata__", Type::kU8, {1}}}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"\xFF", Type::kU8, {1}}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", Type::kF32, {uint64_t{1} << 62, 4}}}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{std::string(101'000'000, 'n'), Type::kU8, {1}}}),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code({}), StatusCode::kOk);
}

}  // namespace
}  // namespace paceline
