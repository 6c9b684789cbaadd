#include "common/object_store/s3_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const S3Asked kAsked = {"s3://models/a", "models", "write",
                        "https://store.example", "the environment"};

WebAnswer Refused(int http, absl::string_view code) {
  WebAnswer answer;
  answer.code = http;
  answer.body = absl::StrCat("<?xml version=\"1.0\"?><Error><Code>", code,
                             "</Code><Message>It said so</Message></Error>");
  return answer;
}

struct Meaning {
  int http;
  std::string code;
  absl::StatusCode status;
  std::string sentence;
  bool may_pass = false;
};

class S3MeaningTest : public ::testing::TestWithParam<Meaning> {};

TEST_P(S3MeaningTest, IsASentenceAndACode) {
  const S3Refusal refusal =
      ReadRefusal(Refused(GetParam().http, GetParam().code));
  EXPECT_EQ(refusal.code, GetParam().code);
  const absl::Status status = ToStatus(refusal, kAsked);
  EXPECT_EQ(status.code(), GetParam().status);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("s3://models/a: "),
                    HasSubstr(GetParam().sentence), HasSubstr("It said so")));
  EXPECT_EQ(MayPass(refusal), GetParam().may_pass);
}

INSTANTIATE_TEST_SUITE_P(
    All, S3MeaningTest,
    ::testing::Values(
        Meaning{404, "NoSuchKey", absl::StatusCode::kNotFound, "is not there"},
        Meaning{404, "NoSuchBucket", absl::StatusCode::kFailedPrecondition,
                "there is no bucket \"models\" at https://store.example"},
        Meaning{404, "NoSuchUpload", absl::StatusCode::kAborted,
                "ended the upload"},
        Meaning{403, "InvalidAccessKeyId", absl::StatusCode::kPermissionDenied,
                "does not accept the credentials from the environment"},
        Meaning{403, "SignatureDoesNotMatch",
                absl::StatusCode::kPermissionDenied, "does not accept"},
        Meaning{403, "AccessDenied", absl::StatusCode::kPermissionDenied,
                "may not write there"},
        Meaning{403, "RequestTimeTooSkewed",
                absl::StatusCode::kFailedPrecondition, "the clock"},
        Meaning{403, "QuotaExceeded", absl::StatusCode::kResourceExhausted,
                "is full or over its quota"},
        Meaning{507, "XMinioStorageFull", absl::StatusCode::kResourceExhausted,
                "is full or over its quota"},
        Meaning{507, "", absl::StatusCode::kResourceExhausted,
                "is full or over its quota"},
        Meaning{301, "PermanentRedirect", absl::StatusCode::kFailedPrecondition,
                "set AWS_REGION"},
        Meaning{400, "AuthorizationHeaderMalformed",
                absl::StatusCode::kFailedPrecondition, "set AWS_REGION"},
        Meaning{412, "PreconditionFailed", absl::StatusCode::kAlreadyExists,
                "was faster"},
        Meaning{416, "InvalidRange", absl::StatusCode::kOutOfRange,
                "no such bytes"},
        Meaning{501, "NotImplemented", absl::StatusCode::kUnimplemented,
                "cannot do that"},
        Meaning{400, "InvalidArgument", absl::StatusCode::kUnknown,
                "the store refused it"},
        Meaning{400, "BadDigest", absl::StatusCode::kUnknown, "refused it",
                true},
        Meaning{500, "InternalError", absl::StatusCode::kUnavailable,
                "the store at https://store.example fails", true},
        Meaning{503, "SlowDown", absl::StatusCode::kUnavailable, "fails", true},
        Meaning{429, "TooManyRequests", absl::StatusCode::kUnavailable, "fails",
                true}));

TEST(S3FailureTest, AnswersWithoutXmlHaveTheirNumber) {
  WebAnswer answer;
  answer.code = 502;
  answer.body = "<html>Bad gateway";
  const S3Refusal refusal = ReadRefusal(answer);
  EXPECT_EQ(refusal.code, "");
  EXPECT_TRUE(MayPass(refusal));
  EXPECT_THAT(std::string(ToStatus(refusal, kAsked).message()),
              HasSubstr("(HTTP 502)"));
}

TEST(S3FailureTest, TheRegionOfTheBucketIsNamed) {
  WebAnswer answer = Refused(301, "PermanentRedirect");
  answer.headers["x-amz-bucket-region"] = "eu-central-1";
  EXPECT_THAT(std::string(ToStatus(ReadRefusal(answer), kAsked).message()),
              HasSubstr("in another region, eu-central-1: set AWS_REGION"));
}

TEST(S3FailureTest, CallsWithoutAnAnswerAreTriedAgain) {
  EXPECT_TRUE(MayPass(absl::UnavailableError("refused")));
  EXPECT_TRUE(MayPass(absl::DeadlineExceededError("silent")));
  EXPECT_FALSE(MayPass(absl::FailedPreconditionError("certificate")));
  EXPECT_FALSE(MayPass(absl::PermissionDeniedError("no key")));
}

absl::Duration SumOfWaits(Patience patience, double chance) {
  absl::Duration sum;
  for (int failures = 1;; ++failures) {
    const auto wait = WaitBeforeTry(failures, patience, chance);
    if (!wait.has_value()) return sum;
    EXPECT_GT(*wait, absl::ZeroDuration());
    sum += *wait;
  }
}

TEST(S3FailureTest, TriesEndAfterAKnownTime) {
  // 0.2 + 0.5 + 1.25 + 3.125
  EXPECT_NEAR(absl::ToDoubleSeconds(SumOfWaits(Patience::kShort, 1)), 5.075,
              0.001);
  // ... + 7.8125 + 3 * 8
  EXPECT_NEAR(absl::ToDoubleSeconds(SumOfWaits(Patience::kLong, 1)), 36.8875,
              0.001);
  EXPECT_EQ(SumOfWaits(Patience::kLong, 0), SumOfWaits(Patience::kLong, 1) / 2);
}

}  // namespace
}  // namespace paceline
