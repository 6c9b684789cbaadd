#include "services/cli/certificates/ensure_certificates.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/security/certificate_authority.h"
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

constexpr const char* kCertificate = CertificateStore::kCertificate;
constexpr const char* kKey = CertificateStore::kKey;
constexpr const char* kAuthority = CertificateStore::kAuthority;

// Other machines' clocks may be behind by so much.
constexpr absl::Duration kEarlier = absl::Hours(1);

std::string TextOf(const CertificateStore::Texts& texts,
                   const std::string& what) {
  const auto found = texts.find(what);
  return found == texts.end() ? "" : found->second;
}

KeyPair PairOf(const CertificateStore::Texts& texts) {
  return {TextOf(texts, kCertificate), TextOf(texts, kKey)};
}

std::string DateOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

absl::StatusOr<CertificateAuthority> EnsureAuthority(
    const CertificateLifetimes& lifetimes, absl::Time now,
    CertificateStore& store,
    const std::function<void(absl::string_view)>& tell) {
  const auto kept = store.Get(kAuthorityName);
  if (kept.ok()) {
    return Annotate(CertificateAuthority::Load(PairOf(*kept)),
                    store.PlaceOf(kAuthorityName));
  }
  if (!absl::IsNotFound(kept.status())) return kept.status();
  CertificateRequest request;
  request.common_name = "paceline CA";
  request.valid_from = now - kEarlier;
  request.valid_until = now + lifetimes.authority;
  PACELINE_ASSIGN_OR_RETURN(CertificateAuthority made,
                            CertificateAuthority::Create(request));
  PACELINE_RETURN_IF_ERROR(store.Put(
      kAuthorityName,
      {{kCertificate, made.pair().certificate}, {kKey, made.pair().key}}));
  tell(absl::StrCat(store.PlaceOf(kAuthorityName), ": a new authority, until ",
                    DateOf(request.valid_until)));
  return made;
}

absl::Status Ensure(const WantedCertificate& wanted,
                    const CertificateLifetimes& lifetimes, absl::Time now,
                    const CertificateAuthority& authority,
                    CertificateStore& store,
                    const std::function<void(absl::string_view)>& tell) {
  const std::string place = store.PlaceOf(wanted.name);
  CertificateRequest request;
  request.common_name = wanted.name;
  request.names = wanted.alternative_names;
  request.valid_from = now;
  request.valid_until = now + lifetimes.renew_before;
  const auto kept = store.Get(wanted.name);
  std::string why = "it is new";
  if (kept.ok()) {
    const absl::Status good = authority.Check(PairOf(*kept), request);
    if (good.ok() &&
        TextOf(*kept, kAuthority) == authority.pair().certificate) {
      return absl::OkStatus();
    }
    why = good.ok() ? "the authority's was missing"
                    : absl::StrCat("the one before: ", good.message());
  } else if (!absl::IsNotFound(kept.status())) {
    return kept.status();
  }
  request.valid_from = now - kEarlier;
  request.valid_until =
      std::min(now + lifetimes.certificate, authority.valid_until());
  if (request.valid_until <= now + lifetimes.renew_before) {
    return absl::FailedPreconditionError(absl::StrCat(
        store.PlaceOf(kAuthorityName), " ends at ",
        DateOf(authority.valid_until()),
        ": remove it, and all certificates are made anew by another one"));
  }
  PACELINE_ASSIGN_OR_RETURN(const KeyPair issued, authority.Issue(request));
  PACELINE_RETURN_IF_ERROR(
      store.Put(wanted.name, {{kCertificate, issued.certificate},
                              {kKey, issued.key},
                              {kAuthority, authority.pair().certificate}}));
  tell(absl::StrCat(place, ": issued until ", DateOf(request.valid_until), ", ",
                    why));
  return absl::OkStatus();
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

absl::Status EnsureCertificates(
    const std::vector<WantedCertificate>& wanted,
    const CertificateLifetimes& lifetimes, absl::Time now,
    CertificateStore& store,
    const std::function<void(absl::string_view)>& tell) {
  PACELINE_ASSIGN_OR_RETURN(const CertificateAuthority authority,
                            EnsureAuthority(lifetimes, now, store, tell));
  for (const WantedCertificate& one : wanted) {
    PACELINE_RETURN_IF_ERROR(
        Ensure(one, lifetimes, now, authority, store, tell));
  }
  return absl::OkStatus();
}

}  // namespace paceline
