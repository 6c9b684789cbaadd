#include "tests/integration/wrong_requests/request_script.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>

#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_details.h"
#include "protos/google/rpc/error_details.pb.h"
#include "tests/integration/generic_call.h"

namespace paceline {
namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::MethodDescriptor;

constexpr char kBytes[] = "bytes:";

// Without comments and the method.
std::string RequestOf(absl::string_view block) {
  std::vector<absl::string_view> lines;
  bool method_seen = false;
  for (const absl::string_view line : absl::StrSplit(block, '\n')) {
    if (absl::StartsWith(line, "#")) continue;
    if (method_seen) lines.push_back(line);
    method_seen = true;
  }
  return absl::StrJoin(lines, "\n");
}

// The request of the method in wire format, from text format.
std::optional<std::string> Serialized(const MethodDescriptor& method,
                                      const std::string& text) {
  google::protobuf::DynamicMessageFactory messages;
  const std::unique_ptr<google::protobuf::Message> request(
      messages.GetPrototype(method.input_type())->New());
  if (!google::protobuf::TextFormat::ParseFromString(text, request.get())) {
    return std::nullopt;
  }
  return request->SerializeAsString();
}

template <class Detail>
Detail DetailOf(const absl::Status& status) {
  Detail detail;
  const auto bytes = status.GetPayload(
      absl::StrCat("type.googleapis.com/", Detail::descriptor()->full_name()));
  if (bytes.has_value()) detail.ParseFromString(std::string(*bytes));
  return detail;
}

// What the details name beside the reason, a line for each kind.
std::string DetailsText(const absl::Status& status) {
  std::string text;
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ViolationsOf(status)) {
    fields.push_back(violation.field);
  }
  if (!fields.empty()) {
    absl::StrAppend(&text, "fields: ", absl::StrJoin(fields, ", "), "\n");
  }
  const auto resource = DetailOf<google::rpc::ResourceInfo>(status);
  if (!resource.resource_name().empty()) {
    absl::StrAppend(&text, "resource: ", resource.resource_type(), " ",
                    resource.resource_name(), "\n");
  }
  const auto failure = DetailOf<google::rpc::PreconditionFailure>(status);
  for (const auto& violation : failure.violations()) {
    absl::StrAppend(&text, "precondition: ", violation.type(), " of ",
                    violation.subject(), "\n");
  }
  const auto quota = DetailOf<google::rpc::QuotaFailure>(status);
  for (const auto& violation : quota.violations()) {
    absl::StrAppend(&text, "quota: ", violation.subject(), "\n");
  }
  return text;
}

}  // namespace

std::string RequestScript::MethodOf(absl::string_view block) {
  for (const absl::string_view line : absl::StrSplit(block, '\n')) {
    if (!absl::StartsWith(line, "#")) return std::string(line);
  }
  return "";
}

std::string RequestScript::Expand(std::string text) const {
  for (const auto& [word, value] : words_) {
    text = absl::StrReplaceAll(
        text, {{absl::StrCat("${", word, "}"), absl::CEscape(value)}});
  }
  size_t begin;
  while ((begin = text.find("${")) != std::string::npos) {
    const size_t end = text.find('}', begin);
    const std::vector<std::string> parts =
        absl::StrSplit(text.substr(begin + 2, end - begin - 2), '*');
    int times = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &times)) break;
    std::string repeated;
    for (int i = 0; i < times; ++i) repeated += parts[0];
    text.replace(begin, end - begin + 1, repeated);
  }
  return text;
}

std::string RequestScript::Call(const std::string& method,
                                const std::string& bytes) const {
  const auto answer =
      CallGenerically(channel_, absl::StrCat("/paceline.v1.", method), bytes);
  if (answer.ok()) {
    return absl::StrCat("error: ", method, " took the request\n");
  }
  const absl::Status& status = answer.status();
  const std::string reason = ReasonOf(status);
  std::string text =
      absl::StrCat(absl::StatusCodeToString(status.code()), " ",
                   reason.empty() ? "without a reason" : reason, "\n",
                   status.message().empty() ? "(no message)" : status.message(),
                   "\n", DetailsText(status));
  for (const auto& [word, value] : words_) {
    text = absl::StrReplaceAll(text, {{value, absl::StrCat("${", word, "}")}});
  }
  return text;
}

std::string RequestScript::Run(const std::string& block) const {
  const std::string method = MethodOf(block);
  const std::string request = RequestOf(block);
  absl::string_view hex = request;
  if (absl::ConsumePrefix(&hex, kBytes)) {
    return Call(method, absl::HexStringToBytes(
                            absl::StrReplaceAll(hex, {{" ", ""}, {"\n", ""}})));
  }
  const MethodDescriptor* const descriptor =
      DescriptorPool::generated_pool()->FindMethodByName(absl::StrCat(
          "paceline.v1.", absl::StrReplaceAll(method, {{"/", "."}})));
  if (descriptor == nullptr) {
    return absl::StrCat("error: ", method, " is no method\n");
  }
  const auto bytes = Serialized(*descriptor, Expand(request));
  if (!bytes.has_value()) {
    return absl::StrCat("error: no ", descriptor->input_type()->name(), "\n");
  }
  return Call(method, *bytes);
}

}  // namespace paceline
