#include "common/rpc/grpc_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/rpc/wire_text.h"
#include "protos/google/rpc/error_details.pb.h"
#include "protos/google/rpc/status.pb.h"

namespace paceline {
namespace {

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
    const bool a_is_info = a.first == kErrorInfo;
    const bool b_is_info = b.first == kErrorInfo;
    if (a_is_info != b_is_info) return a_is_info;
    return a.first < b.first;
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
