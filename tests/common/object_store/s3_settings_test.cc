#include "common/object_store/s3_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace paceline {
namespace {

EnvironmentLookup Of(const std::map<std::string, std::string>& values) {
  return [values](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
  };
}

TEST(S3SettingsTest, AwsIsTheDefault) {
  const auto settings = ReadS3Settings(Of({}));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->region, "us-east-1");
  EXPECT_EQ(settings->sts_endpoint, "https://sts.us-east-1.amazonaws.com");
  const BucketPlace place = PlaceOf(*settings, "models");
  EXPECT_EQ(place.origin, "https://models.s3.us-east-1.amazonaws.com");
  EXPECT_EQ(place.host, "models.s3.us-east-1.amazonaws.com");
  EXPECT_EQ(place.path, "/");
}

TEST(S3SettingsTest, BucketsWithADotHaveNoHostOfTheirOwn) {
  const auto settings = ReadS3Settings(Of({{"AWS_REGION", "eu-west-1"}}));
  const BucketPlace place = PlaceOf(*settings, "my.models");
  EXPECT_EQ(place.origin, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(place.path, "/my.models/");
}

TEST(S3SettingsTest, ChinaHasADomainOfItsOwn) {
  const auto settings =
      ReadS3Settings(Of({{"AWS_DEFAULT_REGION", "cn-north-1"}}));
  EXPECT_EQ(PlaceOf(*settings, "models").host,
            "models.s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(settings->sts_endpoint, "https://sts.cn-north-1.amazonaws.com.cn");
}

TEST(S3SettingsTest, AnEndpointHasBucketsInItsPath) {
  const auto settings =
      ReadS3Settings(Of({{"AWS_ENDPOINT_URL", "http://minio:9000/"}}));
  const BucketPlace place = PlaceOf(*settings, "models");
  EXPECT_EQ(place.origin, "http://minio:9000");
  EXPECT_EQ(place.host, "minio:9000");
  EXPECT_EQ(place.path, "/models/");
  EXPECT_EQ(settings->sts_endpoint, "http://minio:9000/");
}

TEST(S3SettingsTest, TheEndpointOfS3ComesBeforeThatOfAll) {
  const auto settings =
      ReadS3Settings(Of({{"AWS_ENDPOINT_URL", "http://all"},
                         {"AWS_ENDPOINT_URL_S3", "https://s3:443/store"}}));
  const BucketPlace place = PlaceOf(*settings, "models");
  EXPECT_EQ(place.origin, "https://s3:443");
  EXPECT_EQ(place.host, "s3");  // As libcurl says it.
  EXPECT_EQ(place.path, "/store/models/");
}

TEST(S3SettingsTest, WhatIsNoEndpointIsRefused) {
  for (const char* endpoint :
       {"minio:9000", "ftp://minio", "http://", "https:///a",
        "https://user:word@minio", "http://minio/?a"}) {
    EXPECT_EQ(
        ReadS3Settings(Of({{"AWS_ENDPOINT_URL", endpoint}})).status().code(),
        absl::StatusCode::kInvalidArgument)
        << endpoint;
  }
}

}  // namespace
}  // namespace paceline
