#include "common/object_store/s3_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(S3UriTest, BucketAndKeyAreWhatTheySay) {
  EXPECT_EQ(*ParseS3Uri("s3://models"), (S3Uri{"models", ""}));
  EXPECT_EQ(*ParseS3Uri("s3://models/"), (S3Uri{"models", ""}));
  EXPECT_EQ(*ParseS3Uri("s3://models/team a/mnist/"),
            (S3Uri{"models", "team a/mnist"}));
  EXPECT_EQ(FormatS3Uri({"models", "a/b"}), "s3://models/a/b");
  EXPECT_EQ(FormatS3Uri({"models", ""}), "s3://models");
}

TEST(S3UriTest, WhatIsMeantAsOneIsToldFromPaths) {
  EXPECT_TRUE(IsS3Uri("s3://models/mnist"));
  EXPECT_TRUE(IsS3Uri("s3:/models"));  // Wrong, and no path either.
  EXPECT_FALSE(IsS3Uri("/s3/models"));
  EXPECT_FALSE(IsS3Uri("s3"));
  EXPECT_FALSE(IsS3Uri(""));
}

TEST(S3UriTest, CheckpointsAreOnADiskOrInABucket) {
  EXPECT_TRUE(CheckCheckpointPath("/checkpoints").ok());
  EXPECT_TRUE(CheckCheckpointPath("s3://models/runs").ok());
  for (const std::string& path :
       {std::string(), std::string("checkpoints"), std::string("s3://x"),
        std::string("S3://models"), std::string("/a\0b", 4)}) {
    EXPECT_EQ(CheckCheckpointPath(path).code(),
              absl::StatusCode::kInvalidArgument)
        << path;
  }
}

struct WrongUri {
  std::string text;
  std::string why;
};

class S3WrongUriTest : public ::testing::TestWithParam<WrongUri> {};

TEST_P(S3WrongUriTest, IsRefusedWithAReason) {
  const auto parsed = ParseS3Uri(GetParam().text);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, S3WrongUriTest,
    ::testing::Values(WrongUri{"/checkpoints", "does not begin with s3://"},
                      WrongUri{"s3:/models", "does not begin with s3://"},
                      WrongUri{"s3://", "does not name a bucket"},
                      WrongUri{"s3:///a", "does not name a bucket"},
                      WrongUri{"s3://ab", "does not name a bucket"},
                      WrongUri{"s3://mod els", "does not name a bucket"},
                      WrongUri{"s3://models/a//b", "has an empty part"},
                      WrongUri{"s3://models//", "has an empty part"},
                      WrongUri{"s3://models/../other", "\"..\" in it"},
                      WrongUri{"s3://models/a/.", "\".\""},
                      WrongUri{"s3://models/a\nb", "control character"},
                      WrongUri{"s3://models/" + std::string(701, 'a'),
                               "more than 700 characters"}));

}  // namespace
}  // namespace paceline
