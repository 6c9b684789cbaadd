#include "common/status_details.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "protos/google/rpc/error_details.pb.h"

namespace paceline {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename Detail>
Detail DetailOf(const absl::Status& status, absl::string_view type) {
  const absl::optional<absl::Cord> payload =
      status.GetPayload(absl::StrCat("type.googleapis.com/google.rpc.", type));
  Detail detail;
  EXPECT_TRUE(payload.has_value()) << type;
  if (payload.has_value()) {
    EXPECT_TRUE(detail.ParseFromString(std::string(*payload)));
  }
  return detail;
}

TEST(StatusDetailsTest, AReasonHasDomainAndMetadata) {
  const absl::Status status =
      WithReason(absl::UnauthenticatedError("no token"), "NO_CREDENTIALS",
                 {{"method", "GetJob"}});
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_EQ(status.message(), "no token");
  EXPECT_EQ(ReasonOf(status), "NO_CREDENTIALS");
  const auto info = DetailOf<google::rpc::ErrorInfo>(status, "ErrorInfo");
  EXPECT_EQ(info.domain(), "paceline");
  EXPECT_EQ(info.metadata().at("method"), "GetJob");
}

TEST(StatusDetailsTest, ASecondReasonReplacesTheFirst) {
  EXPECT_EQ(ReasonOf(WithReason(InvalidField("name", "is empty"), "BAD_NAME")),
            "BAD_NAME");
}

TEST(StatusDetailsTest, AnOkStatusStaysOk) {
  EXPECT_EQ(WithReason(absl::OkStatus(), "NONE"), absl::OkStatus());
  EXPECT_EQ(RetryLater(absl::OkStatus(), absl::Seconds(1)), absl::OkStatus());
  EXPECT_EQ(InvalidFields({}), absl::OkStatus());
}

TEST(StatusDetailsTest, FieldsAreListedAndReadWell) {
  const std::vector<FieldViolation> violations = {
      {"job.spec.batch_size", "must be at least 1"}, {"", "is too long"}};
  const absl::Status status = InvalidFields(violations);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "job.spec.batch_size: must be at least 1; is too long");
  EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
  EXPECT_EQ(ViolationsOf(status), violations);
}

TEST(StatusDetailsTest, OfManyFieldsTheFirstAreNamed) {
  const std::vector<FieldViolation> violations(53, {"a", "is wrong"});
  const absl::Status status = InvalidFields(violations);
  EXPECT_THAT(ViolationsOf(status), SizeIs(50));
  EXPECT_THAT(std::string(status.message()), EndsWith("; and 3 more"));
}

TEST(StatusDetailsTest, OfLongTextsThoseThatFitAreNamed) {
  const std::vector<FieldViolation> violations(10,
                                               {"a", std::string(600, 'x')});
  const absl::Status status = InvalidFields(violations);
  EXPECT_THAT(ViolationsOf(status), SizeIs(3));
  EXPECT_THAT(std::string(status.message()), EndsWith("; and 7 more"));
  EXPECT_THAT(ViolationsOf(InvalidField("a", std::string(5000, 'x'))),
              SizeIs(1));
}

struct ResourceCase {
  absl::Status status;
  absl::StatusCode code;
  std::string reason;
};

TEST(StatusDetailsTest, ResourcesAreNamed) {
  const std::string name = "namespaces/n/jobs/j";
  for (const ResourceCase& c : std::vector<ResourceCase>{
           {NotFound("paceline.v1.Job", name), absl::StatusCode::kNotFound,
            "RESOURCE_NOT_FOUND"},
           {AlreadyExists("paceline.v1.Job", name),
            absl::StatusCode::kAlreadyExists, "RESOURCE_EXISTS"},
           {EtagMismatch("paceline.v1.Job", name), absl::StatusCode::kAborted,
            "ETAG_MISMATCH"}}) {
    SCOPED_TRACE(c.reason);
    EXPECT_EQ(c.status.code(), c.code);
    EXPECT_EQ(ReasonOf(c.status), c.reason);
    EXPECT_THAT(std::string(c.status.message()),
                testing::StartsWith("Job \"namespaces/n/jobs/j\" "));
    const auto info =
        DetailOf<google::rpc::ResourceInfo>(c.status, "ResourceInfo");
    EXPECT_EQ(info.resource_type(), "paceline.v1.Job");
    EXPECT_EQ(info.resource_name(), name);
  }
}

TEST(StatusDetailsTest, AWrongStateIsAPrecondition) {
  const absl::Status status = WrongState("jobs/j", "is PAUSED; resume it");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "jobs/j: is PAUSED; resume it");
  EXPECT_EQ(ReasonOf(status), "WRONG_STATE");
  const auto failure =
      DetailOf<google::rpc::PreconditionFailure>(status, "PreconditionFailure");
  ASSERT_THAT(failure.violations(), SizeIs(1));
  EXPECT_EQ(failure.violations(0).type(), "STATE");
  EXPECT_EQ(failure.violations(0).subject(), "jobs/j");
}

TEST(StatusDetailsTest, AQuotaHasItsSubject) {
  const absl::Status status = QuotaExceeded("namespace:a", "has 3 of 3 jobs");
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(ReasonOf(status), "QUOTA_EXCEEDED");
  const auto failure =
      DetailOf<google::rpc::QuotaFailure>(status, "QuotaFailure");
  ASSERT_THAT(failure.violations(), SizeIs(1));
  EXPECT_EQ(failure.violations(0).subject(), "namespace:a");
}

TEST(StatusDetailsTest, ADelayComesBack) {
  const absl::Status status =
      RetryLater(absl::UnavailableError("stopping"), absl::Milliseconds(2500));
  EXPECT_EQ(RetryDelayOf(status), absl::Milliseconds(2500));
  const auto info = DetailOf<google::rpc::RetryInfo>(status, "RetryInfo");
  EXPECT_EQ(info.retry_delay().seconds(), 2);
  EXPECT_EQ(info.retry_delay().nanos(), 500'000'000);
}

TEST(StatusDetailsTest, GarbageCountsAsAbsent) {
  absl::Status status = absl::InternalError("x");
  for (absl::string_view type : {"ErrorInfo", "BadRequest", "RetryInfo"}) {
    status.SetPayload(absl::StrCat("type.googleapis.com/google.rpc.", type),
                      absl::Cord("\xff\xff\xff"));
  }
  EXPECT_EQ(ReasonOf(status), "");
  EXPECT_THAT(ViolationsOf(status), IsEmpty());
  EXPECT_EQ(RetryDelayOf(status), std::nullopt);
  EXPECT_EQ(ReasonOf(absl::InternalError("y")), "");
}

}  // namespace
}  // namespace paceline
