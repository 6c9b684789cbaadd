#include "common/rpc/grpc_status.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protos/google/rpc/error_details.pb.h"
#include "protos/google/rpc/status.pb.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

constexpr char kPrefix[] = "type.googleapis.com/";

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

// What the status takes of the trailers, gRPC's own names left out.
size_t TrailerBytes(const grpc::Status& status) {
  size_t bytes = absl::Base64Escape(status.error_details()).size();
  for (const char c : status.error_message()) {
    bytes += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  }
  return bytes;
}

absl::Status BadFields(int count, size_t description_bytes) {
  // As somebody might make it who does not know the limits.
  google::rpc::BadRequest bad;
  for (int i = 0; i < count; ++i) {
    auto& violation = *bad.add_field_violations();
    violation.set_field(absl::StrCat("job.spec.field_", i));
    violation.set_description(std::string(description_bytes, 'x'));
  }
  absl::Status status =
      WithReason(absl::InvalidArgumentError("many"), "INVALID_FIELD");
  status.SetPayload(absl::StrCat(kPrefix, "google.rpc.BadRequest"),
                    absl::Cord(bad.SerializeAsString()));
  return status;
}

TEST(GrpcStatusTest, EveryCodeComesBackAsItWas) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    const grpc::Status wire = ToGrpc(status);
    EXPECT_EQ(static_cast<int>(wire.error_code()), code);
    EXPECT_EQ(FromGrpc(wire), status);
  }
}

TEST(GrpcStatusTest, NamesMeanTheSame) {
  EXPECT_EQ(ToGrpc(absl::UnavailableError("gone")).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ToGrpc(absl::AbortedError("fenced")).error_message(), "fenced");
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
  EXPECT_EQ(ToGrpc(absl::AbortedError("fenced")).error_details(), "");
}

TEST(GrpcStatusTest, DetailsComeBackAsTheyWere) {
  const absl::Status status =
      RetryLater(WithReason(absl::ResourceExhaustedError("later"), "TOO_MANY",
                            {{"identity", "admin/a"}, {"method", "/x/Y"}}),
                 absl::Milliseconds(1500));
  const absl::Status back = FromGrpc(ToGrpc(status));
  EXPECT_EQ(back, status);  // Payloads too.
  EXPECT_EQ(ReasonOf(back), "TOO_MANY");
  EXPECT_EQ(RetryDelayOf(back), absl::Milliseconds(1500));
}

TEST(GrpcStatusTest, DetailsAreWhatOtherLanguagesRead) {
  const grpc::Status wire = ToGrpc(InvalidField("job.spec.seed", "too large"));
  const google::rpc::Status details = DetailsOf(wire);
  EXPECT_EQ(details.code(), 3);
  EXPECT_EQ(details.message(), wire.error_message());
  ASSERT_THAT(details.details(), SizeIs(2));
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.domain(), "paceline");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(details.details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations(0).field(), "job.spec.seed");
}

TEST(GrpcStatusTest, TheOrderIsTheSameEveryTime) {
  const std::vector<std::string> kNames = {
      "google.rpc.RetryInfo", "google.rpc.ErrorInfo", "google.rpc.BadRequest",
      "google.rpc.QuotaFailure", "other.Thing"};
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    std::vector<std::string> names = kNames;
    absl::Status status = absl::AbortedError("x");
    while (!names.empty()) {
      const size_t at = rng.Below(names.size());
      status.SetPayload(kPrefix + names[at], absl::Cord("\x0a\x01z"));
      names.erase(names.begin() + at);
    }
    std::vector<std::string> types;
    const google::rpc::Status details = DetailsOf(ToGrpc(status));
    for (const auto& detail : details.details()) {
      types.push_back(detail.type_url().substr(sizeof(kPrefix) - 1));
    }
    EXPECT_THAT(types,
                ElementsAre("google.rpc.ErrorInfo", "google.rpc.BadRequest",
                            "google.rpc.QuotaFailure", "google.rpc.RetryInfo",
                            "other.Thing"));
  }
}

TEST(GrpcStatusTest, PayloadsThatAreNoMessagesStayAtHome) {
  absl::Status status = absl::AbortedError("x");
  status.SetPayload("example.com/internal", absl::Cord("secret"));
  EXPECT_EQ(ToGrpc(status).error_details(), "");
}

TEST(GrpcStatusTest, ALongMessageIsCut) {
  const grpc::Status plain =
      ToGrpc(absl::InternalError(std::string(100'000, 'x')));
  EXPECT_LE(TrailerBytes(plain), kMaxTrailerBytes);
  EXPECT_GT(plain.error_message().size(), 4000u);
  EXPECT_THAT(plain.error_message(), EndsWith("x..."));
  const grpc::Status detailed = ToGrpc(
      WithReason(absl::InternalError(std::string(100'000, '%')), "REASON"));
  EXPECT_LE(TrailerBytes(detailed), kMaxTrailerBytes);
  EXPECT_EQ(ReasonOf(FromGrpc(detailed)), "REASON");
}

TEST(GrpcStatusTest, ManyViolationsAreCutAndCounted) {
  const absl::Status status = BadFields(50, 300);
  const grpc::Status wire = ToGrpc(status);
  EXPECT_LE(TrailerBytes(wire), kMaxTrailerBytes);
  const auto violations = ViolationsOf(FromGrpc(wire));
  ASSERT_GE(violations.size(), 5u);
  ASSERT_LT(violations.size(), 50u);
  for (size_t i = 0; i + 1 < violations.size(); ++i) {
    EXPECT_EQ(violations[i], ViolationsOf(status)[i]);
  }
  EXPECT_EQ(violations.back().description,
            absl::StrCat(50 - (violations.size() - 1), " more are left out"));
  EXPECT_EQ(ReasonOf(FromGrpc(wire)), "INVALID_FIELD");
}

TEST(GrpcStatusTest, FewViolationsAreComplete) {
  const absl::Status status = BadFields(20, 50);
  EXPECT_EQ(ViolationsOf(FromGrpc(ToGrpc(status))), ViolationsOf(status));
}

TEST(GrpcStatusTest, TheReasonSurvivesWhatDoesNotFit) {
  absl::Status status = WithReason(absl::AbortedError("x"), "REASON",
                                   {{"large", std::string(20'000, 'x')}});
  google::rpc::QuotaFailure quota;
  quota.add_violations()->set_description(std::string(20'000, 'x'));
  status.SetPayload(absl::StrCat(kPrefix, "google.rpc.QuotaFailure"),
                    absl::Cord(quota.SerializeAsString()));
  status = RetryLater(status, absl::Seconds(1));
  const grpc::Status wire = ToGrpc(status);
  EXPECT_LE(TrailerBytes(wire), kMaxTrailerBytes);
  EXPECT_EQ(ReasonOf(FromGrpc(wire)), "REASON");
  EXPECT_EQ(RetryDelayOf(FromGrpc(wire)), absl::Seconds(1));
  EXPECT_THAT(DetailsOf(wire).details(), SizeIs(2));
}

TEST(GrpcStatusTest, BytesThatAreNoTextBecomeQuestionMarks) {
  const grpc::Status wire =
      ToGrpc(WithReason(absl::AbortedError("bad \xff name"), "REASON"));
  EXPECT_EQ(wire.error_message(), "bad ? name");
  EXPECT_EQ(DetailsOf(wire).message(), "bad ? name");
}

TEST(GrpcStatusTest, DetailsThatCannotBeReadAreIgnored) {
  const absl::Status plain = absl::NotFoundError("x");
  const std::string good = ToGrpc(WithReason(plain, "REASON")).error_details();
  for (size_t size = 1; size < good.size(); ++size) {
    const absl::Status back = FromGrpc(
        grpc::Status(grpc::StatusCode::NOT_FOUND, "x", good.substr(0, size)));
    EXPECT_EQ(back.code(), plain.code());
    EXPECT_EQ(back.message(), plain.message());
  }
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::NOT_FOUND, "x", "\xff")),
            plain);
  EXPECT_TRUE(FromGrpc(grpc::Status(grpc::StatusCode::OK, "", good)).ok());
}

TEST(GrpcStatusTest, AnyGarbageIsTakenOrIgnored) {
  const std::string good = ToGrpc(BadFields(3, 10)).error_details();
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Rng rng(seed);
    std::string bytes = good;
    for (uint64_t i = 0; i <= rng.Below(10); ++i) {
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
    }
    const absl::Status back =
        FromGrpc(grpc::Status(grpc::StatusCode::ABORTED, "as it was", bytes));
    ASSERT_TRUE(absl::IsAborted(back));
    ASSERT_EQ(back.message(), "as it was");
    ReasonOf(back);  // Neither may they.
    ViolationsOf(back);
    // And it can go on to somebody else.
    ASSERT_LE(TrailerBytes(ToGrpc(back)), kMaxTrailerBytes);
  }
}

// Any payloads, of any sizes.
TEST(GrpcStatusTest, WhateverItIsItFits) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    absl::Status status =
        BadFields(static_cast<int>(1 + rng.Below(60)), rng.Below(1000));
    if (rng.Chance(1, 2)) {
      status = WithReason(status, "REASON",
                          {{"key", std::string(rng.Below(9000), 'k')}});
    }
    for (uint64_t i = rng.Below(5); i > 0; --i) {
      status.SetPayload(absl::StrCat(kPrefix, "other.Thing", i),
                        absl::Cord(std::string(rng.Below(6000), 'y')));
    }
    const grpc::Status wire = ToGrpc(status);
    ASSERT_LE(TrailerBytes(wire), kMaxTrailerBytes);
    ASSERT_NE(ReasonOf(FromGrpc(wire)), "");
  }
}

TEST(FromCodeTest, ReadsACodeOfAMessage) {
  EXPECT_TRUE(FromCode(0, "").ok());
  EXPECT_EQ(FromCode(14, "ask again"), absl::UnavailableError("ask again"));
}

TEST(FromCodeTest, ANumberThatIsNoCodeIsUnknown) {
  EXPECT_EQ(FromCode(17, "x"), absl::UnknownError("x"));
  EXPECT_EQ(FromCode(-1, "x"), absl::UnknownError("x"));
}

}  // namespace
}  // namespace paceline
