#include "common/host_port.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

constexpr uint32_t kPortMax = 65'535;
// Of a wrong port that is repeated in an error.
constexpr size_t kPortShown = 80;

bool IsUnixSocket(absl::string_view address) {
  return absl::StartsWith(address, "unix:") ||
         absl::StartsWith(address, "unix-abstract:");
}

}  // namespace

HostPort SplitHostPort(absl::string_view address) {
  const std::string plain =
      absl::StrReplaceAll(address, {{"%5B", "["}, {"%5D", "]"}});
  absl::string_view rest = plain;
  if (!absl::ConsumePrefix(&rest, "ipv4:") &&
      !absl::ConsumePrefix(&rest, "ipv6:") &&
      !absl::ConsumePrefix(&rest, "dns:///")) {
    absl::ConsumePrefix(&rest, "dns:");
  }
  size_t host_begin = 0;
  size_t host_end = rest.find(':');
  size_t colon = host_end;
  if (absl::StartsWith(rest, "[")) {
    host_begin = 1;
    host_end = rest.find(']');
    colon = host_end == rest.npos ? rest.npos : rest.find(':', host_end);
  } else if (std::count(rest.begin(), rest.end(), ':') > 1) {
    host_end = colon = rest.npos;
  }
  HostPort parts;
  parts.host = std::string(rest.substr(
      host_begin, host_end == rest.npos ? rest.npos : host_end - host_begin));
  if (colon != rest.npos) parts.port = std::string(rest.substr(colon + 1));
  return parts;
}

std::optional<uint16_t> ParsePort(absl::string_view port) {
  uint32_t number = 0;
  // Not "+80" or " 80", which SimpleAtoi() takes.
  if (!std::all_of(port.begin(), port.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(port, &number) || number > kPortMax) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(number);
}

absl::Status CheckPort(absl::string_view address) {
  if (IsUnixSocket(address)) return absl::OkStatus();
  const std::optional<std::string> port = SplitHostPort(address).port;
  if (!port.has_value() || ParsePort(*port).has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the address ", address, " has the port \"", port->substr(0, kPortShown),
      "\"; want one from 0 to 65535"));
}

}  // namespace paceline
