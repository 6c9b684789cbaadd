#include "services/cli/certificates/wanted_certificate.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/security/identity.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kLongestLabel = 63;
constexpr size_t kLongestHost = 253;

bool IsIpAddress(const std::string& host) {
  in6_addr ignored;
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

// Letters, digits and '-', neither first nor last.
bool IsLabel(absl::string_view label) {
  if (label.empty() || label.size() > kLongestLabel) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  for (const char c : label) {
    if (!absl::ascii_isalnum(c) && c != '-') return false;
  }
  return true;
}

bool IsDnsName(absl::string_view host) {
  if (host.size() > kLongestHost) return false;
  absl::ConsumePrefix(&host, "*.");
  absl::string_view last;
  for (const absl::string_view label : absl::StrSplit(host, '.')) {
    if (!IsLabel(label)) return false;
    last = label;
  }
  // 300.1.1.1 was to be an address.
  return !std::all_of(last.begin(), last.end(), absl::ascii_isdigit);
}

// Also what a Kubernetes secret may be called.
bool IsName(absl::string_view name) {
  return IsLabel(name) && name == absl::AsciiStrToLower(name);
}

}  // namespace

absl::StatusOr<WantedCertificate> ParseWantedCertificate(
    absl::string_view text) {
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\": ", why,
                     "; want NAME=ROLE/IDENTITY[,HOST...], such as "
                     "w0=worker/w0"));
  };
  const std::vector<std::string> sides =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (sides.size() != 2) return wrong("there is no =");
  WantedCertificate wanted;
  wanted.name = sides[0];
  if (!IsName(wanted.name)) {
    return wrong("NAME has other than small letters, digits and -");
  }
  if (wanted.name == "ca") return wrong("ca is the authority's own name");
  const std::vector<std::string> parts = absl::StrSplit(sides[1], ',');
  const std::string uri = absl::StrCat(kIdentityScheme, parts[0]);
  const auto identity = ParseIdentityUri(uri);
  if (!identity.ok()) return wrong(identity.status().message());
  wanted.alternative_names.push_back(absl::StrCat("URI:", uri));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string& host = parts[i];
    if (IsIpAddress(host)) {
      wanted.alternative_names.push_back(absl::StrCat("IP:", host));
    } else if (IsDnsName(host)) {
      wanted.alternative_names.push_back(absl::StrCat("DNS:", host));
    } else {
      return wrong(absl::StrCat("\"", host,
                                "\" is neither a DNS name nor an IP address"));
    }
  }
  return wanted;
}

}  // namespace paceline
