#include "common/rpc/grpc_status.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/utf8.h"
#include "protos/google/rpc/error_details.pb.h"
#include "protos/google/rpc/status.pb.h"

namespace paceline {
namespace {

constexpr absl::string_view kEllipsis = "...";

bool Continues(absl::string_view text, size_t at) {
  return at < text.size() && ContinuesUtf8(text[at]);
}

// How many bytes the character at the front takes; 0 if there is none (RFC
// 3629: neither longer than needed, nor a surrogate, nor above U+10FFFF).
size_t CharacterSize(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  if (!Continues(text, 1)) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (!Continues(text, 2)) return 0;
  if (first == 0xe0) return second >= 0xa0 ? 3 : 0;
  if (first == 0xed) return second <= 0x9f ? 3 : 0;
  if (first >= 0xe1 && first <= 0xef) return 3;
  if (!Continues(text, 3)) return 0;
  if (first == 0xf0) return second >= 0x90 ? 4 : 0;
  if (first == 0xf4) return second <= 0x8f ? 4 : 0;
  return first >= 0xf1 && first <= 0xf3 ? 4 : 0;
}

// Percent-encoded.
size_t EncodedSize(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

size_t EncodedSize(absl::string_view text) {
  size_t size = 0;
  for (const char c : text) size += EncodedSize(c);
  return size;
}

constexpr absl::string_view kTypePrefix = "type.googleapis.com/";
constexpr absl::string_view kErrorInfo =
    "type.googleapis.com/google.rpc.ErrorInfo";
constexpr absl::string_view kBadRequest =
    "type.googleapis.com/google.rpc.BadRequest";

// Percent-encoded, as it travels. The details repeat the message.
constexpr size_t kMaxMessageBytes = 1 << 10;
constexpr size_t kMaxLoneMessageBytes = 4 << 10;
// Serialized; in Base64 they take a third more.
constexpr size_t kMaxDetailsBytes =
    (kMaxTrailerBytes - kMaxMessageBytes) / 4 * 3;

using Details = std::vector<std::pair<std::string, std::string>>;

// Type and bytes of every payload. The order in which absl::Status shows them
// is random.
Details SortedPayloads(const absl::Status& status) {
  Details details;
  status.ForEachPayload(
      [&details](absl::string_view type, const absl::Cord& bytes) {
        if (!absl::StartsWith(type, kTypePrefix)) return;
        details.emplace_back(type, bytes);
      });
  std::sort(details.begin(), details.end(), [](const auto& a, const auto& b) {
    return std::forward_as_tuple(a.first != kErrorInfo, a.first) <
           std::forward_as_tuple(b.first != kErrorInfo, b.first);
  });
  return details;
}

// Adds the detail if `wire` then still fits.
bool AddIfItFits(const std::string& type, const std::string& bytes,
                 google::rpc::Status& wire) {
  google::protobuf::Any* const detail = wire.add_details();
  detail->set_type_url(type);
  detail->set_value(bytes);
  if (wire.ByteSizeLong() <= kMaxDetailsBytes) return true;
  wire.mutable_details()->RemoveLast();
  return false;
}

void AddShortened(const std::string& type, google::rpc::BadRequest bad,
                  google::rpc::Status& wire) {
  const int all = bad.field_violations_size();
  while (bad.field_violations_size() > 0) {
    bad.mutable_field_violations()->RemoveLast();
    google::rpc::BadRequest shown = bad;
    shown.add_field_violations()->set_description(
        absl::StrCat(all - bad.field_violations_size(), " more are left out"));
    if (AddIfItFits(type, shown.SerializeAsString(), wire)) return;
  }
}

void Add(const std::string& type, const std::string& bytes,
         google::rpc::Status& wire) {
  if (AddIfItFits(type, bytes, wire)) return;
  google::rpc::BadRequest bad;
  google::rpc::ErrorInfo info;
  if (type == kBadRequest && bad.ParseFromString(bytes)) {
    AddShortened(type, std::move(bad), wire);
  } else if (type == kErrorInfo && info.ParseFromString(bytes)) {
    info.clear_metadata();
    AddIfItFits(type, info.SerializeAsString(), wire);
  }
}

}  // namespace

std::string ReplaceInvalidUtf8(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) {
      valid += '?';
    } else {
      absl::StrAppend(&valid, text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return valid;
}

std::string ShortenForHeader(absl::string_view text, size_t max) {
  CHECK(max >= kEllipsis.size());
  if (EncodedSize(text) <= max) return std::string(text);
  size_t kept = 0;
  size_t size = kEllipsis.size() + EncodedSize(text[kept]);
  while (size <= max) size += EncodedSize(text[++kept]);
  return absl::StrCat(CutUtf8(text, kept), kEllipsis);
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message = ReplaceInvalidUtf8(status.message());
  const Details details = SortedPayloads(status);
  if (details.empty()) {
    return {code, ShortenForHeader(message, kMaxLoneMessageBytes)};
  }
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(code));
  wire.set_message(ShortenForHeader(message, kMaxMessageBytes));
  for (const auto& [type, bytes] : details) Add(type, bytes, wire);
  return {code, wire.message(), wire.SerializeAsString()};
}

absl::Status FromGrpc(const grpc::Status& status) {
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
  google::rpc::Status wire;
  if (result.ok() || status.error_details().empty() ||
      !wire.ParseFromString(status.error_details())) {
    return result;
  }
  for (const google::protobuf::Any& detail : wire.details()) {
    if (!absl::StartsWith(detail.type_url(), kTypePrefix)) continue;
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

}  // namespace paceline
