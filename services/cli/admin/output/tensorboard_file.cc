#include "services/cli/admin/output/tensorboard_file.h"

#include <array>
#include <bit>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace paceline {
namespace {

using google::protobuf::io::CodedOutputStream;

// How a field's value is encoded, in the lowest bits of its tag.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kSized = 2;
constexpr uint32_t kFixed32 = 5;

// Tags of the fields in TensorFlow's event.proto and summary.proto, which no
// package of Debian has. Their numbers never change.
constexpr uint32_t kEventWallTime = 1 << 3 | kFixed64;     // double
constexpr uint32_t kEventStep = 2 << 3 | kVarint;          // int64
constexpr uint32_t kEventFileVersion = 3 << 3 | kSized;    // string
constexpr uint32_t kEventSummary = 5 << 3 | kSized;        // Summary
constexpr uint32_t kSummaryValue = 1 << 3 | kSized;        // repeated Value
constexpr uint32_t kValueTag = 1 << 3 | kSized;            // string
constexpr uint32_t kValueSimpleValue = 2 << 3 | kFixed32;  // float

std::array<uint32_t, 256> Crc32cTable() {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

// What `write(stream)` writes.
template <class Write>
std::string Encoded(const Write& write) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream text(&bytes);
    CodedOutputStream stream(&text);
    write(&stream);
  }
  return bytes;
}

void WriteSized(uint32_t tag, const std::string& bytes,
                CodedOutputStream* stream) {
  stream->WriteTag(tag);
  stream->WriteVarint32(static_cast<uint32_t>(bytes.size()));
  stream->WriteString(bytes);
}

void WriteTime(absl::Time time, CodedOutputStream* stream) {
  stream->WriteTag(kEventWallTime);
  stream->WriteLittleEndian64(
      std::bit_cast<uint64_t>(absl::ToDoubleSeconds(time - absl::UnixEpoch())));
}

void WriteSummary(const ScalarStep& step, CodedOutputStream* stream) {
  for (const auto& scalar : step.values) {
    WriteSized(
        kSummaryValue, Encoded([&](CodedOutputStream* value) {
          WriteSized(kValueTag, scalar.first, value);
          value->WriteTag(kValueSimpleValue);
          value->WriteLittleEndian32(std::bit_cast<uint32_t>(scalar.second));
        }),
        stream);
  }
}

void WriteStep(const ScalarStep& step, CodedOutputStream* stream) {
  WriteTime(step.time, stream);
  stream->WriteTag(kEventStep);
  stream->WriteVarint64(static_cast<uint64_t>(step.step));
  WriteSized(kEventSummary, Encoded([&](CodedOutputStream* summary) {
               WriteSummary(step, summary);
             }),
             stream);
}

// One record: an event with its length and the checksums of both.
std::string Framed(const std::string& event) {
  const std::string length = Encoded([&](CodedOutputStream* stream) {
    stream->WriteLittleEndian64(event.size());
  });
  return Encoded([&](CodedOutputStream* stream) {
    stream->WriteString(length);
    stream->WriteLittleEndian32(MaskedCrc32c(length));
    stream->WriteString(event);
    stream->WriteLittleEndian32(MaskedCrc32c(event));
  });
}

}  // namespace

std::string TensorboardFile(absl::Time began,
                            const std::vector<ScalarStep>& steps) {
  std::string text = Framed(Encoded([&](CodedOutputStream* stream) {
    WriteTime(began, stream);
    WriteSized(kEventFileVersion, "brain.Event:2", stream);
  }));
  for (const ScalarStep& step : steps) {
    text += Framed(
        Encoded([&](CodedOutputStream* stream) { WriteStep(step, stream); }));
  }
  return text;
}

uint32_t MaskedCrc32c(absl::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = Crc32cTable();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  }
  crc = ~crc;
  // So that a checksum of text which has checksums in it is no other one.
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

}  // namespace paceline
