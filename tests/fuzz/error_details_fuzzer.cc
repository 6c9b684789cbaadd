// An error as a peer sends it: code, message and google.rpc details.

#include "common/rpc/grpc_status.h"
#include "common/status_details.h"
#include "protos/google/rpc/error_details.pb.h"
#include "protos/google/rpc/status.pb.h"
#include "services/cli/admin/error_text.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

std::string Seed(uint8_t code, const absl::Status& status) {
  return std::string(2, static_cast<char>(code)) + FuzzText(status.message()) +
         ToGrpc(status).error_details();
}

// Texts that gRPC can send, whatever they were.
void FuzzMessageText(absl::string_view text) {
  const std::string valid = ReplaceInvalidUtf8(text);
  CHECK(ReplaceInvalidUtf8(valid) == valid);
  const std::string shorter = ShortenForHeader(valid, 64);
  CHECK(shorter.size() <= 64);
  CHECK(ReplaceInvalidUtf8(shorter) == shorter);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  absl::Status late = absl::ResourceExhaustedError("too many requests");
  late = RetryLater(WithReason(late, "RATE_LIMIT", {{"k", "v"}}),
                    absl::Milliseconds(1500));
  return {Seed(3, InvalidFields({{"job.spec", "is missing"}, {"", "\xff"}})),
          Seed(8, late),
          Seed(5, NotFound("paceline.v1.Job", "j")),
          Seed(9, WrongState("job", "it has ended")),
          Seed(10, EtagMismatch("paceline.v1.Job", "j")),
          Seed(8, QuotaExceeded("namespace:default", std::string(9000, '%'))),
          Seed(14, absl::UnavailableError(std::string(5000, '\x01')))};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const int code = fuzz.Byte() % 17;  // gRPC makes UNKNOWN of any other.
  const int any_code = fuzz.Number<int8_t>();
  const std::string message(fuzz.Text());
  const std::string details(fuzz.Rest());
  FuzzMessageText(message);
  // Within a message it is whatever the peer says.
  CHECK(FromCode(any_code, message).ok() == (any_code == 0));

  const absl::Status status = FromGrpc(
      grpc::Status(static_cast<grpc::StatusCode>(code), message, details));
  CHECK(status.ok() == (code == 0));
  ReasonOf(status);
  ViolationsOf(status);
  RetryDelayOf(status);
  ErrorText(status, "job");
  // Passed on, it fits what peers take.
  const grpc::Status sent = ToGrpc(status);
  CHECK(sent.ok() == status.ok());
  const size_t base64 = (sent.error_details().size() + 2) / 3 * 4;
  CHECK(sent.error_message().size() + base64 <= kMaxTrailerBytes);
}

}  // namespace paceline
