#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/job/names.h"
#include "common/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/data/batch_loader.h"
#include "services/worker/data/image_files.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// One record whose planes are all red, all green and all blue bytes.
Bytes Record(uint8_t label, uint8_t red, uint8_t green, uint8_t blue) {
  Bytes bytes = {label};
  for (const uint8_t value : {red, green, blue}) {
    bytes.insert(bytes.end(), 1024, value);
  }
  return bytes;
}

TEST(Cifar10Test, ReadsWhicheverBatchesThereAre) {
  const ScratchFolder folder;
  folder.Write("data_batch_2.bin", Record(3, 10, 20, 30));
  folder.Write("data_batch_4.bin",
               Joined(Record(4, 1, 2, 3), Record(5, 255, 0, 51)));
  folder.Write("test_batch.bin", Record(9, 0, 0, 0));
  const auto train = LoadCifar10(folder.path(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT(train->labels(), ElementsAre(3, 4, 5));
  EXPECT_EQ(train->shape(), (ImageShape{3, 32, 32}));
  float image[3072];
  uint8_t label = 0;
  train->Gather({2}, image, &label);
  EXPECT_EQ(label, 5);
  EXPECT_NEAR(image[0], (1 - 0.4914) / 0.2470, 1e-5);
  EXPECT_NEAR(image[1024], -0.4822 / 0.2435, 1e-5);
  EXPECT_NEAR(image[3071], (0.2 - 0.4465) / 0.2616, 1e-5);
  const auto test = LoadCifar10(folder.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT(test->labels(), ElementsAre(9));
}

TEST(Cifar10Test, MissingFiles) {
  const ScratchFolder folder;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const auto status = LoadCifar10(folder.path(), split).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder.path()));
  }
}

TEST(Cifar10Test, NoWholeNumberOfRecords) {
  const ScratchFolder folder;
  Bytes bytes = Record(3, 10, 20, 30);
  for (const size_t size : {0u, 100u, 3072u, 3074u}) {
    bytes.resize(size);
    folder.Write("test_batch.bin", bytes);
    const auto status = LoadCifar10(folder.path(), Split::kTest).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("records of 3073"));
  }
}

TEST(Cifar10Test, LabelOutOfRange) {
  const ScratchFolder folder;
  folder.Write("test_batch.bin", Record(10, 0, 0, 0));
  const auto status = LoadCifar10(folder.path(), Split::kTest).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("label 10 of image 0"));
}

TEST(Cifar10Test, RealImages) {
  const char* place = std::getenv("PACELINE_DATA");
  const std::string folder =
      absl::StrCat(place == nullptr ? "../shared/data" : place, "/cifar10");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no real data in " << folder << "; set PACELINE_DATA";
  }
  const auto data = LoadCifar10(folder, Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size(), 10'000u);
}

// One record of CIFAR-100: its coarse label says nothing.
Bytes FineRecord(uint8_t coarse, uint8_t label, uint8_t red, uint8_t green,
                 uint8_t blue) {
  return Joined({coarse}, Record(label, red, green, blue));
}

TEST(Cifar100Test, ReadsTheFineLabels) {
  const ScratchFolder folder;
  folder.Write("train.bin", Joined(FineRecord(255, 3, 10, 20, 30),
                                   FineRecord(4, 99, 255, 0, 51)));
  folder.Write("test.bin", FineRecord(19, 42, 0, 0, 0));
  const auto train = LoadCifar100(folder.path(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT(train->labels(), ElementsAre(3, 99));
  EXPECT_EQ(train->shape(), (ImageShape{3, 32, 32}));
  EXPECT_EQ(train->classes(), 100);
  float image[3072];
  uint8_t label = 0;
  train->Gather({1}, image, &label);
  EXPECT_EQ(label, 99);
  EXPECT_NEAR(image[0], (1 - 0.5071) / 0.2673, 1e-5);
  EXPECT_NEAR(image[1024], -0.4865 / 0.2564, 1e-5);
  EXPECT_NEAR(image[3071], (0.2 - 0.4409) / 0.2762, 1e-5);
  const auto test = LoadCifar100(folder.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT(test->labels(), ElementsAre(42));
  EXPECT_EQ(test->classes(), 100);
}

// Records whose red bytes are columns, and whose green bytes are rows.
class AugmentedCifarTest : public testing::Test {
 protected:
  AugmentedCifarTest() {
    Bytes record = FineRecord(0, 3, 0, 0, 0);
    for (int i = 0; i < 1024; ++i) {
      record[2 + i] = static_cast<uint8_t>(i % 32);
      record[2 + 1024 + i] = static_cast<uint8_t>(i / 32);
    }
    folder_.Write("test.bin", record);
    Bytes records;
    for (uint32_t i = 0; i < kRecords; ++i) records = Joined(records, record);
    folder_.Write("train.bin", records);
  }

  Dataset Load(Split split, absl::string_view more) const {
    auto data = LoadDataset(absl::StrCat("cifar100:", folder_.path(), more),
                            split, {.anywhere = true});
    EXPECT_TRUE(data.ok()) << data.status();
    return *std::move(data);
  }

  // Where an image of 28x28 is taken from.
  static ImageMove MoveOf(const float* image) {
    const auto byte = [image](int channel, int y, int x) {
      const Normalization of = NormalizationOf(kCifar100)[channel];
      const float value = image[channel * 784 + y * 28 + x];
      return static_cast<int>(
          std::lround((value * of.deviation + of.mean) * 255));
    };
    const bool mirrored = byte(0, 0, 0) > byte(0, 0, 1);
    const ImageMove move{byte(1, 0, 0), byte(0, 0, mirrored ? 27 : 0),
                         mirrored};
    for (int y = 0; y < 28; ++y) {
      for (int x = 0; x < 28; ++x) {
        EXPECT_EQ(byte(0, y, x), move.right + (mirrored ? 27 - x : x));
        EXPECT_EQ(byte(1, y, x), move.down + y);
        EXPECT_EQ(byte(2, y, x), 0);
      }
    }
    return move;
  }

  static constexpr uint32_t kRecords = 1000;
  const ScratchFolder folder_;
};

TEST_F(AugmentedCifarTest, OnlyTrainingImagesMove) {
  for (const char* augment : {",augment=crop_flip", ",augment=crop28_flip"}) {
    EXPECT_TRUE(Load(Split::kTrain, augment).moves().has_value()) << augment;
    EXPECT_FALSE(Load(Split::kTest, augment).moves().has_value()) << augment;
  }
  EXPECT_FALSE(Load(Split::kTrain, "").moves().has_value());
}

TEST_F(AugmentedCifarTest, BothSplitsAreCroppedAlike) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    EXPECT_EQ(Load(split, ",augment=crop28_flip").shape(),
              (ImageShape{3, 28, 28}));
    EXPECT_EQ(Load(split, ",augment=crop_flip").shape(),
              (ImageShape{3, 32, 32}));
  }
}

TEST_F(AugmentedCifarTest, TheCentreIsTested) {
  const Dataset test = Load(Split::kTest, ",augment=crop28_flip");
  std::vector<float> image(test.shape().size());
  uint8_t label = 0;
  test.Gather({0}, image.data(), &label);
  EXPECT_EQ(MoveOf(image.data()), (ImageMove{2, 2, false}));
}

TEST_F(AugmentedCifarTest, EveryWindowIsTrained) {
  constexpr uint64_t kSeed = 3;
  constexpr uint32_t kEpoch = 2;
  const Dataset train = Load(Split::kTrain, ",augment=crop28_flip");
  BatchLoader loader(&train, kSeed);
  ASSERT_TRUE(loader.Start({kEpoch, 0, kRecords}, 300).ok());
  std::set<std::tuple<int, int, bool>> seen;
  const auto order = EpochPermutation(kSeed, kEpoch, kRecords);
  auto sample = order.begin();
  while (const auto batch = loader.Next()) {
    for (int i = 0; i < batch->n; ++i) {
      const ImageMove move = MoveOf(batch->images + i * train.shape().size());
      EXPECT_EQ(move, DrawMove({0, 4}, kSeed, kEpoch, *sample++));
      seen.insert({move.down, move.right, move.mirrored});
    }
  }
  EXPECT_EQ(seen.size(), 5u * 5 * 2);
}

TEST(Cifar100Test, MissingFiles) {
  const ScratchFolder folder;
  for (const auto& [split, name] :
       {std::pair{Split::kTrain, "train.bin"}, {Split::kTest, "test.bin"}}) {
    const auto status = LoadCifar100(folder.path(), split).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder.Path(name)));
  }
}

TEST(Cifar100Test, NoWholeNumberOfRecords) {
  const ScratchFolder folder;
  Bytes bytes = FineRecord(0, 3, 10, 20, 30);
  // One record of CIFAR-10 is none of CIFAR-100.
  for (const size_t size : {0u, 100u, 3073u, 3075u}) {
    bytes.resize(size);
    folder.Write("train.bin", bytes);
    const auto status = LoadCifar100(folder.path(), Split::kTrain).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("records of 3074"), HasSubstr("CIFAR-100")));
  }
}

TEST(Cifar100Test, LabelOutOfRange) {
  const ScratchFolder folder;
  folder.Write("test.bin", FineRecord(0, 100, 0, 0, 0));
  const auto status = LoadCifar100(folder.path(), Split::kTest).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("label 100 of image 0 is not below 100"));
}

}  // namespace
}  // namespace paceline
