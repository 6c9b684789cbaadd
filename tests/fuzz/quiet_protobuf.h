#ifndef PACELINE_TESTS_FUZZ_QUIET_PROTOBUF_H_
#define PACELINE_TESTS_FUZZ_QUIET_PROTOBUF_H_

#include <google/protobuf/stubs/common.h>
#include <google/protobuf/stubs/logging.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

// Protobuf says on stderr what is no UTF-8, which is most inputs.
inline const bool kProtobufIsQuiet =
    (google::protobuf::SetLogHandler(nullptr), true);

// Of a message's texts no others reach us.
inline bool IsUtf8(absl::string_view text) {
  return google::protobuf::internal::IsStructurallyValidUTF8(
      text.data(), static_cast<int>(text.size()));
}

// INVALID_ARGUMENT, with a text that can be sent: what quotes a request must
// not cut its characters in two.
inline void ExpectInvalidFields(const absl::Status& status) {
  ExpectInvalidArgument(status);
  CHECK(IsUtf8(std::string(status.message())));
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_QUIET_PROTOBUF_H_
