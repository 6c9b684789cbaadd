#ifndef PACELINE_TESTS_FUZZ_FUZZ_MESSAGE_H_
#define PACELINE_TESTS_FUZZ_FUZZ_MESSAGE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "tests/fuzz/quiet_protobuf.h"

namespace paceline {

// The message that a server would get of these bytes: gRPC hands on nothing
// that Protobuf cannot read.
template <class Message>
std::optional<Message> ParseMessage(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  return message;
}

// Equal messages have equal ones, also of maps.
inline std::string BytesOf(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  CHECK(message.SerializeToCodedStream(&out));
  out.Trim();
  return bytes;
}

// A seed, from Protobuf's text format.
template <class Message>
std::string MessageSeed(const char* text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message.SerializeAsString();
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_FUZZ_MESSAGE_H_
