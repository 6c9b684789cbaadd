#include "services/worker/data/synthetic.h"

#include <zlib.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

unsigned long ChecksumOf(const Dataset& data) {
  return crc32(crc32(0, nullptr, 0), data.pixels().data(),
               static_cast<unsigned>(data.pixels().size()));
}

struct Golden {
  const char* name;
  Split split;
  uint32_t size;
  ImageShape shape;
  unsigned long checksum;
};

// Load-bearing: published curves name these sets. If a change is meant, give
// the changed set another name.
TEST(SyntheticTest, TheSameBytesEverywhere) {
  for (const Golden& golden : std::vector<Golden>{
           {"shapes", Split::kTrain, 12000, {1, 28, 28}, 858671342},
           {"shapes", Split::kTest, 2000, {1, 28, 28}, 4212581934},
           {"tiny", Split::kTrain, 1024, {1, 28, 28}, 3939462545},
           {"tiny", Split::kTest, 256, {1, 28, 28}, 2222792795},
           {"color-shapes", Split::kTrain, 12000, {3, 32, 32}, 3848616177},
           {"color-shapes", Split::kTest, 2000, {3, 32, 32}, 306224272}}) {
    const auto data = DrawSynthetic(golden.name, golden.split);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->size(), golden.size);
    EXPECT_EQ(data->shape(), golden.shape);
    EXPECT_EQ(data->classes(), 10);
    EXPECT_EQ(ChecksumOf(*data), golden.checksum)
        << golden.name << " "
        << (golden.split == Split::kTrain ? "train" : "test");
  }
}

TEST(SyntheticTest, ClassesAreBalancedAndImagesDiffer) {
  const auto data = DrawSynthetic("tiny", Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<int> counts(10);
  std::set<std::vector<uint8_t>> images;
  for (uint32_t i = 0; i < data->size(); ++i) {
    ++counts[data->labels()[i]];
    const auto image = data->pixels().subspan(i * 784, 784);
    images.emplace(image.begin(), image.end());
  }
  for (const int count : counts) EXPECT_NEAR(count, 102.4, 1);
  EXPECT_EQ(images.size(), data->size());
}

TEST(SyntheticTest, GathersAboutZeroMeanAndUnitVariance) {
  const auto data = DrawSynthetic("tiny", Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < 1000; ++i) indices.push_back(i);
  std::vector<float> images(indices.size() * 784);
  std::vector<uint8_t> labels(indices.size());
  data->Gather(indices, images.data(), labels.data());
  double sum = 0, square = 0;
  for (const float value : images) {
    sum += value;
    square += double{value} * value;
  }
  const auto count = static_cast<double>(images.size());
  EXPECT_NEAR(sum / count, 0, 0.1);
  EXPECT_NEAR(std::sqrt(square / count), 0.7, 0.1);
}

TEST(SyntheticTest, ListsItsNames) {
  const auto status = DrawSynthetic("digits", Split::kTrain).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("there are shapes, tiny, color-shapes"));
}

}  // namespace
}  // namespace paceline
