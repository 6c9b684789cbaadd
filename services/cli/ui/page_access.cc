#include "services/cli/ui/page_access.h"

#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace paceline {
namespace {

// The names of this machine that no other one has.
constexpr absl::string_view kOwnNames[] = {"127.0.0.1", "localhost"};

bool IsOwnHost(absl::string_view host, int port) {
  for (const absl::string_view name : kOwnNames) {
    if (absl::EqualsIgnoreCase(host, absl::StrCat(name, ":", port))) {
      return true;
    }
  }
  return false;
}

// Takes equally long wherever the two differ.
bool SameSecret(absl::string_view one, absl::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  }
  return difference == 0;
}

// "application/json", also with "; charset=utf-8".
bool IsJson(absl::string_view content_type) {
  const absl::string_view type = content_type.substr(0, content_type.find(';'));
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(type),
                                "application/json");
}

}  // namespace

absl::Status PageAccess::CheckHost(const HttpRequest& request) const {
  if (IsOwnHost(request.host, port_)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "this page has the address http://127.0.0.1:", port_, " alone"));
}

absl::Status PageAccess::CheckCall(const HttpRequest& request) const {
  PACELINE_RETURN_IF_ERROR(CheckHost(request));
  absl::string_view origin = request.origin;
  if (!origin.empty() &&
      (!absl::ConsumePrefix(&origin, "http://") || !IsOwnHost(origin, port_))) {
    return absl::PermissionDeniedError("a page of another site may not ask");
  }
  absl::string_view token = request.authorization;
  if (!absl::ConsumePrefix(&token, "Bearer ") || !SameSecret(token, token_)) {
    return absl::UnauthenticatedError(
        "open the whole address that paceline has printed: it ends with a "
        "token, which is another one after every start");
  }
  if (!request.post || !IsJson(request.content_type)) {
    return absl::InvalidArgumentError(
        "it takes a POST with the content type application/json");
  }
  return absl::OkStatus();
}

std::string NewPageToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 8; ++i) absl::StrAppendFormat(&token, "%08x", device());
  return token;
}

}  // namespace paceline
