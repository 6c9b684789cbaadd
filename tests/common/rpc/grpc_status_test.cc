#include "common/rpc/grpc_status.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

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
