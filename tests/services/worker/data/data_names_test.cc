#include "common/job/names.h"
#include "gtest/gtest.h"
#include "services/worker/data/dataset.h"

namespace paceline {
namespace {

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
