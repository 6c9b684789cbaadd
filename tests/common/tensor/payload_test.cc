#include "common/tensor/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/rng.h"

namespace paceline {
namespace {

using testing::ElementsAre;

constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16,
                             DType::kInt8};

std::vector<float> Numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), -3.0f);
  return values;
}

std::string Encode(DType dtype, const std::vector<float>& values) {
  std::string bytes(EncodedSize(dtype, values.size()), '\0');
  ConvertFromF32(dtype, values.data(), values.size(), bytes.data());
  return bytes;
}

// Of bytes that lie in one piece.
std::vector<float> Decode(DType dtype, const std::string& bytes) {
  std::vector<float> values(*EncodedCount(dtype, bytes.size()));
  ConvertToF32(dtype, bytes.data(), values.size(), values.data());
  return values;
}

// A payload whose slices are separate allocations of exactly their size, so
// that AddressSanitizer sees a read beyond one, and which begin at any byte.
class CutPayload {
 public:
  CutPayload(const std::string& bytes, const std::vector<size_t>& cuts) {
    size_t begin = 0;
    for (size_t cut : cuts) {
      Add(bytes.substr(begin, cut - begin));
      begin = cut;
    }
    Add(bytes.substr(begin));
  }

  const Payload& payload() const { return payload_; }

 private:
  void Add(const std::string& slice) {
    const size_t shift = slices_.size() % 4;
    slices_.push_back(std::make_unique<char[]>(slice.size() + shift));
    char* begin = slices_.back().get() + shift;
    std::memcpy(begin, slice.data(), slice.size());
    payload_.Append(absl::string_view(begin, slice.size()));
  }

  std::vector<std::unique_ptr<char[]>> slices_;
  Payload payload_;
};

std::vector<float> Copy(const Payload& payload, DType dtype) {
  std::vector<float> values(*EncodedCount(dtype, payload.size()));
  payload.CopyTo(dtype, values.data());
  return values;
}

// Through VisitF32, checking that the elements come in order and only once.
std::vector<float> Visit(const Payload& payload, DType dtype) {
  std::vector<float> values;
  payload.VisitF32(dtype, [&](size_t first, const char* floats, size_t count) {
    EXPECT_EQ(first, values.size());
    EXPECT_GT(count, 0u);
    values.resize(first + count);
    std::memcpy(values.data() + first, floats, count * sizeof(float));
  });
  return values;
}

TEST(PayloadTest, OneCutAtEveryByte) {
  for (const DType dtype : kDTypes) {
    const std::string bytes = Encode(dtype, Numbers(11));
    const std::vector<float> values = Decode(dtype, bytes);
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      const CutPayload cut_payload(bytes, {cut});
      ASSERT_EQ(cut_payload.payload().size(), bytes.size());
      ASSERT_EQ(Copy(cut_payload.payload(), dtype), values) << cut;
      ASSERT_EQ(Visit(cut_payload.payload(), dtype), values) << cut;
    }
  }
}

TEST(PayloadTest, TwoCutsAtEveryPairOfBytes) {
  for (const DType dtype : kDTypes) {
    const std::string bytes = Encode(dtype, Numbers(5));
    const std::vector<float> values = Decode(dtype, bytes);
    for (size_t a = 0; a <= bytes.size(); ++a) {
      for (size_t b = a; b <= bytes.size(); ++b) {
        const CutPayload cut_payload(bytes, {a, b});
        ASSERT_EQ(Visit(cut_payload.payload(), dtype), values) << a << " " << b;
      }
    }
  }
}

TEST(PayloadTest, SlicesOfOneByte) {
  for (const DType dtype : kDTypes) {
    const std::string bytes = Encode(dtype, Numbers(9));
    const std::vector<float> values = Decode(dtype, bytes);
    std::vector<size_t> cuts(bytes.size() - 1);
    std::iota(cuts.begin(), cuts.end(), 1);
    EXPECT_EQ(Copy(CutPayload(bytes, cuts).payload(), dtype), values);
  }
}

TEST(PayloadTest, RandomCutsOfManyTiles) {
  Rng rng(7);
  for (const DType dtype : kDTypes) {
    std::vector<float> drawn(5000);
    for (float& value : drawn) value = static_cast<float>(rng.Below(200));
    const std::string bytes = Encode(dtype, drawn);
    const std::vector<float> values = Decode(dtype, bytes);
    for (int round = 0; round < 20; ++round) {
      std::vector<size_t> cuts;
      for (int i = 0; i < 6; ++i) cuts.push_back(rng.Below(bytes.size() + 1));
      std::sort(cuts.begin(), cuts.end());
      ASSERT_EQ(Visit(CutPayload(bytes, cuts).payload(), dtype), values);
    }
  }
}

TEST(PayloadTest, OneCutAtEveryByteOfSeveralGroups) {
  std::vector<float> numbers = Numbers(600);
  const std::string bytes = Encode(DType::kInt8, numbers);
  const std::vector<float> values = Decode(DType::kInt8, bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const CutPayload cut_payload(bytes, {cut});
    ASSERT_EQ(Visit(cut_payload.payload(), DType::kInt8), values) << cut;
    ASSERT_TRUE(cut_payload.payload().AllFinite(DType::kInt8));
  }
  for (const size_t bad : {0, 255, 256, 599}) {
    numbers[bad] = std::numeric_limits<float>::infinity();
    const std::string spoilt = Encode(DType::kInt8, numbers);
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      ASSERT_FALSE(CutPayload(spoilt, {cut}).payload().AllFinite(DType::kInt8));
    }
    numbers[bad] = 0;
  }
}

TEST(PayloadTest, WholeGroupsAreNotCopied) {
  const std::string bytes = Encode(DType::kInt8, Numbers(1100));
  Payload payload(absl::string_view(bytes).substr(0, 600));
  payload.Append(absl::string_view(bytes).substr(600));
  std::vector<size_t> counts;
  std::vector<bool> in_place;
  payload.VisitRuns(DType::kInt8, [&](size_t first, const char* run, size_t n) {
    counts.push_back(n);
    in_place.push_back(run == bytes.data() + EncodedSize(DType::kInt8, first));
    return true;
  });
  EXPECT_THAT(counts, ElementsAre(512, 256, 256, 76));
  EXPECT_THAT(in_place, ElementsAre(true, false, true, false));
}

TEST(PayloadTest, WholeRunsAreNotCopied) {
  const std::string bytes = Encode(DType::kF32, Numbers(8));
  Payload payload(absl::string_view(bytes).substr(0, 14));
  payload.Append(absl::string_view(bytes).substr(14));
  std::vector<size_t> counts;
  std::vector<bool> in_place;
  payload.VisitRuns(DType::kF32, [&](size_t first, const char* run, size_t n) {
    counts.push_back(n);
    in_place.push_back(run == bytes.data() + first * sizeof(float));
    return true;
  });
  EXPECT_THAT(counts, ElementsAre(3, 1, 4));
  EXPECT_THAT(in_place, ElementsAre(true, false, true));
}

TEST(PayloadTest, VisitStopsWhenTold) {
  const std::string bytes = Encode(DType::kBF16, Numbers(8));
  Payload payload(absl::string_view(bytes).substr(0, 6));
  payload.Append(absl::string_view(bytes).substr(6));
  int visits = 0;
  EXPECT_FALSE(
      payload.VisitRuns(DType::kBF16, [&](size_t, const char*, size_t) {
        ++visits;
        return false;
      }));
  EXPECT_EQ(visits, 1);
}

TEST(PayloadTest, FindsANaNInACutElement) {
  for (const DType dtype : kDTypes) {
    std::vector<float> values = Numbers(4);
    values[2] = std::numeric_limits<float>::quiet_NaN();
    const std::string bytes = Encode(dtype, values);
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      EXPECT_FALSE(CutPayload(bytes, {cut}).payload().AllFinite(dtype));
    }
    EXPECT_TRUE(Payload(Encode(dtype, Numbers(4))).AllFinite(dtype));
  }
}

TEST(PayloadTest, EmptyHasNothing) {
  Payload payload;
  payload.Append("");
  EXPECT_EQ(payload.size(), 0u);
  EXPECT_TRUE(Visit(payload, DType::kF16).empty());
  EXPECT_TRUE(payload.AllFinite(DType::kF32));
}

}  // namespace
}  // namespace paceline
