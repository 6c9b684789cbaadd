#include <string>

#include "absl/strings/str_cat.h"
#include "common/job/names.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/data/dataset.h"

namespace paceline {
namespace {

using testing::HasSubstr;

TEST(DataNamesTest, WhatIsRightIsWhatCanBeLoaded) {
  for (const char* spec :
       {"synthetic:tiny", "synthetic:shapes", "synthetic:color-shapes"}) {
    EXPECT_TRUE(CheckDataSpec(spec).ok()) << spec;
    EXPECT_TRUE(LoadDataset(spec, Split::kTest).ok()) << spec;
  }
  // Whether the directory holds any is found by loading alone.
  for (const char* spec :
       {"mnist:/nowhere", "cifar10:nowhere", "cifar100:nowhere"}) {
    EXPECT_TRUE(CheckDataSpec(spec).ok()) << spec;
    EXPECT_TRUE(absl::IsNotFound(
        LoadDataset(spec, Split::kTest, {.anywhere = true}).status()))
        << spec;
  }
}

TEST(DataNamesTest, AnAugmentStandsBehindTheFolder) {
  for (const char* kind : {"cifar10", "cifar100"}) {
    for (const absl::string_view augment : {kCropFlip, kCrop28Flip}) {
      const std::string spec = absl::StrCat(kind, ":a,b=c:d,augment=", augment);
      const auto data = ParseDataSpec(spec);
      ASSERT_TRUE(data.ok()) << data.status();
      EXPECT_EQ(data->kind, kind);
      EXPECT_EQ(data->place, "a,b=c:d");
      EXPECT_EQ(data->augment, augment);
    }
  }
  // Anything else behind a comma belongs to the folder's name.
  for (const char* place : {"a", "a,augment", "a,augmented=crop_flip", ","}) {
    const std::string spec = absl::StrCat("cifar10:", place);
    const auto data = ParseDataSpec(spec);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->place, place);
    EXPECT_EQ(data->augment, "");
  }
}

TEST(DataNamesTest, AWrongAugmentIsRefused) {
  const auto refusal = [](const char* spec) {
    const absl::Status status = CheckDataSpec(spec);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << spec << status;
    EXPECT_EQ(LoadDataset(spec, Split::kTrain).status(), status);
    return std::string(status.message());
  };
  EXPECT_EQ(refusal("cifar10:d,augment=flip"),
            "data \"cifar10:d,augment=flip\": the only augments are "
            "crop_flip, crop28_flip");
  EXPECT_THAT(refusal("cifar10:d,augment="), HasSubstr("only augments"));
  EXPECT_THAT(refusal("cifar10:d,augment=crop24_flip"),
              HasSubstr("only augments"));
  EXPECT_THAT(refusal("mnist:d,augment=crop_flip"),
              HasSubstr("only cifar10 and cifar100 take augment"));
  EXPECT_THAT(refusal("synthetic:tiny,augment=crop28_flip"),
              HasSubstr("only cifar10 and cifar100 take augment"));
  EXPECT_THAT(refusal("cifar10:,augment=crop_flip"),
              HasSubstr("want mnist:DIR"));
}

TEST(DataNamesTest, WhatIsWrongIsWrongForBoth) {
  for (const char* spec :
       {"", "mnist", "mnist:", "synthetic:", ":tiny", "imagenet:/d",
        "synthetic:cats", "MNIST:/d", "cifar:/d", "cifar100", "cifar100:"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckDataSpec(spec))) << spec;
    EXPECT_EQ(LoadDataset(spec, Split::kTest).status(), CheckDataSpec(spec));
  }
}

}  // namespace
}  // namespace paceline
