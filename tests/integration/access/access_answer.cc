#include "tests/integration/access/access_answer.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/security/identity.h"
#include "common/status_details.h"
#include "protos/google/rpc/error_details.pb.h"

namespace paceline {
namespace {

constexpr char kNoConnection[] = "no connection";

bool ConnectsTo(const AccessPlace& place, const AccessCaller& caller) {
  switch (caller.connects) {
    case AccessCaller::Connects::kAlways:
      return true;
    case AccessCaller::Connects::kUnlessRequired:
      return !place.requires_certificate;
    case AccessCaller::Connects::kNever:
      return false;
  }
  return false;
}

bool Serves(const AccessPlace& place, const AccessRow& row) {
  switch (row.served_by) {
    case ServedBy::kCoordinator:
      return place.coordinator;
    case ServedBy::kParameterServer:
      return !place.coordinator;
    case ServedBy::kBoth:
      return true;
    case ServedBy::kReflectingCoordinator:
      return place.coordinator && place.reflection;
  }
  return false;
}

bool Allows(const AccessRow& row, v1::Role role) {
  const std::vector<std::string> roles = absl::StrSplit(row.roles, ' ');
  return absl::c_linear_search(roles, RoleName(role));
}

google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const auto bytes =
      status.GetPayload("type.googleapis.com/google.rpc.ErrorInfo");
  if (bytes.has_value()) info.ParseFromString(std::string(*bytes));
  return info;
}

}  // namespace

std::string ExpectedAnswer(const AccessPlace& place, const AccessCaller& caller,
                           const AccessRow& row) {
  if (!ConnectsTo(place, caller)) return kNoConnection;
  if (!Serves(place, row)) return "UNIMPLEMENTED";
  if (row.roles == absl::string_view(kEverybody)) return row.empty;
  if (caller.role == v1::ROLE_UNSPECIFIED) {
    return absl::StrCat("UNAUTHENTICATED ", caller.reason, " of ", row.method);
  }
  // An empty message names nothing that is in a namespace.
  if (Allows(row, caller.role) && caller.bound && row.reach != v1::OWN_PART) {
    return absl::StrCat("PERMISSION_DENIED NAMESPACE_NOT_ALLOWED of ",
                        row.method, " to ", RoleName(caller.role));
  }
  if (Allows(row, caller.role)) return row.empty;
  return absl::StrCat("PERMISSION_DENIED ROLE_NOT_ALLOWED of ", row.method,
                      " to ", RoleName(caller.role));
}

std::string AnswerText(const absl::Status& status, bool connected) {
  const google::rpc::ErrorInfo info = InfoOf(status);
  if (absl::IsUnavailable(status) && !connected && info.reason().empty()) {
    return kNoConnection;
  }
  std::string text = absl::StatusCodeToString(status.code());
  const bool refused =
      absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
  if (!refused) return text;
  absl::StrAppend(&text, " ", info.reason(), " of ",
                  info.metadata().count("method") > 0
                      ? info.metadata().at("method")
                      : "nothing");
  if (info.metadata().count("role") > 0) {
    absl::StrAppend(&text, " to ", info.metadata().at("role"));
  }
  if (info.domain() != kErrorDomain) {
    absl::StrAppend(&text, ", domain ", info.domain());
  }
  return text;
}

}  // namespace paceline
