#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/data/dataset.h"
#include "services/worker/data/image_files.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kImages[] = "train-images-idx3-ubyte";
constexpr char kLabels[] = "train-labels-idx1-ubyte";

// Three images of 2x2 pixels.
Bytes ImageBytes() {
  return {0, 0, 8, 3,   0,  0,   0, 3, 0, 0, 0, 2, 0, 0,
          0, 2, 0, 255, 51, 102, 1, 2, 3, 4, 5, 6, 7, 8};
}
Bytes LabelBytes() { return {0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9}; }

class MnistTest : public testing::Test {
 protected:
  MnistTest() {
    folder_.Write(kImages, ImageBytes());
    folder_.Write(kLabels, LabelBytes());
  }

  // Loading must fail with this code, in one line that names the file.
  void ExpectError(absl::StatusCode code, const std::string& file,
                   const std::string& text) {
    const auto status = LoadMnist(folder_.path(), Split::kTrain).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file));
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }

  ScratchFolder folder_;
};

TEST_F(MnistTest, ReadsPlainFiles) {
  const auto data = LoadMnist(folder_.path(), Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size(), 3u);
  EXPECT_EQ(data->shape(), (ImageShape{1, 2, 2}));
  EXPECT_EQ(data->classes(), 10);
  EXPECT_THAT(data->labels(), ElementsAre(7, 0, 9));
  EXPECT_THAT(data->pixels(),
              ElementsAre(0, 255, 51, 102, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(MnistTest, ReadsPackedFilesAndTheTestSplit) {
  folder_.WriteGz("t10k-images-idx3-ubyte.gz", ImageBytes());
  folder_.WriteGz("t10k-labels-idx1-ubyte.gz", LabelBytes());
  const auto data = LoadMnist(folder_.path(), Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->pixels(), LoadMnist(folder_.path(), Split::kTrain)->pixels());
}

TEST_F(MnistTest, GathersNormalized) {
  const auto data = LoadMnist(folder_.path(), Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  float images[8];
  uint8_t labels[2];
  data->Gather({2, 0}, images, labels);
  EXPECT_THAT(labels, ElementsAre(9, 7));
  EXPECT_NEAR(images[0], (5 / 255.0 - 0.1307) / 0.3081, 1e-5);
  EXPECT_NEAR(images[5], (1 - 0.1307) / 0.3081, 1e-5);
}

TEST_F(MnistTest, MissingFile) {
  folder_.Remove(kLabels);
  ExpectError(absl::StatusCode::kNotFound, kLabels, "no such file");
  EXPECT_TRUE(
      absl::IsNotFound(LoadMnist("/nowhere/at/all", Split::kTest).status()));
}

TEST_F(MnistTest, TruncatedFiles) {
  for (const size_t size : {0u, 3u, 15u, 20u, 27u}) {
    Bytes bytes = ImageBytes();
    bytes.resize(size);
    folder_.Write(kImages, bytes);
    ExpectError(absl::StatusCode::kDataLoss, kImages, "truncated");
  }
}

TEST_F(MnistTest, TruncatedPackedFile) {
  folder_.Remove(kImages);
  const std::string name = absl::StrCat(kImages, ".gz");
  folder_.WriteGz(name, ImageBytes());
  Bytes bytes = folder_.Read(name);
  bytes.resize(bytes.size() - 10);
  folder_.Write(name, bytes);
  EXPECT_TRUE(
      absl::IsDataLoss(LoadMnist(folder_.path(), Split::kTrain).status()));
}

TEST_F(MnistTest, DamagedPackedFile) {
  folder_.Remove(kImages);
  const std::string name = absl::StrCat(kImages, ".gz");
  folder_.WriteGz(name, ImageBytes());
  Bytes bytes = folder_.Read(name);
  bytes[bytes.size() / 2] ^= 0xff;
  folder_.Write(name, bytes);
  EXPECT_TRUE(
      absl::IsDataLoss(LoadMnist(folder_.path(), Split::kTrain).status()));
}

TEST_F(MnistTest, WrongMagic) {
  folder_.Write(kImages, LabelBytes());
  ExpectError(absl::StatusCode::kDataLoss, kImages,
              "wrong magic number 0x00000801");
}

TEST_F(MnistTest, TrailingBytes) {
  folder_.Write(kLabels, Joined(LabelBytes(), {1}));
  ExpectError(absl::StatusCode::kDataLoss, kLabels, "longer");
}

TEST_F(MnistTest, SizesBeyondTheLimits) {
  Bytes bytes = ImageBytes();
  bytes[4] = 0xff;  // Four thousand million images.
  folder_.Write(kImages, bytes);
  ExpectError(absl::StatusCode::kDataLoss, kImages, "images, want 1 to");
  bytes = ImageBytes();
  bytes[11] = 0;
  folder_.Write(kImages, bytes);
  ExpectError(absl::StatusCode::kDataLoss, kImages, "0 rows, want 1 to 1024");
  // Each number allowed, the product not: refused before any memory is taken.
  folder_.Write(kImages, {0, 0, 8, 3, 0, 0x98, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0});
  ExpectError(absl::StatusCode::kDataLoss, kImages, "bytes of images");
}

TEST_F(MnistTest, CountsThatDoNotMatch) {
  folder_.Write(kLabels, {0, 0, 8, 1, 0, 0, 0, 2, 7, 0});
  ExpectError(absl::StatusCode::kInvalidArgument, kLabels,
              "2 labels for 3 images");
}

TEST_F(MnistTest, LabelOutOfRange) {
  folder_.Write(kLabels, {0, 0, 8, 1, 0, 0, 0, 3, 7, 10, 9});
  ExpectError(absl::StatusCode::kDataLoss, kLabels,
              "label 10 of image 1 is not below 10");
}

TEST(LoadDatasetTest, RealDigits) {
  const char* place = std::getenv("PACELINE_DATA");
  const std::string folder =
      absl::StrCat(place == nullptr ? "../shared/data" : place, "/mnist");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no real data in " << folder << "; set PACELINE_DATA";
  }
  const auto data = LoadDataset(absl::StrCat("mnist:", folder), Split::kTest,
                                {.anywhere = true});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size(), 10'000u);
  EXPECT_EQ(data->shape(), (ImageShape{1, 28, 28}));
}

TEST(LoadDatasetTest, ARelativeFolderIsBelowTheRoot) {
  // Errors name the file that was looked for.
  const auto looked_for = [](const char* spec, const char* root) {
    const DataPlaces places = {.root = root, .anywhere = true};
    return std::string(
        LoadDataset(spec, Split::kTest, places).status().message());
  };
  EXPECT_THAT(looked_for("mnist:none", "/data"), HasSubstr("/data/none/t10k"));
  EXPECT_THAT(looked_for("mnist:/none", "/data"), HasSubstr("/none/t10k"));
  EXPECT_THAT(looked_for("mnist:/none", "/data"), Not(HasSubstr("/data")));
  EXPECT_THAT(looked_for("cifar10:none", "/data"), HasSubstr("/data/none/"));
  EXPECT_THAT(looked_for("mnist:none", "."), Not(HasSubstr("./none")));
}

TEST(LoadDatasetTest, SaysWhatItTakes) {
  for (const char* spec : {"", "mnist", "mnist:", "imagenet:/data", ":x"}) {
    const auto status = LoadDataset(spec, Split::kTrain).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << spec << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("want mnist:DIR, cifar10:DIR, cifar100:DIR or "
                          "synthetic:NAME"));
  }
}

}  // namespace
}  // namespace paceline
