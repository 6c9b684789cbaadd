#include "services/cli/certificates/ensure_certificates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/security/certificate_authority.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr const char* kCertificate = CertificateStore::kCertificate;
constexpr const char* kKey = CertificateStore::kKey;
constexpr const char* kAuthority = CertificateStore::kAuthority;

// Of clocks that are not quite right.
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
    auto loaded = CertificateAuthority::Load(PairOf(*kept));
    if (loaded.ok()) return loaded;
    return Annotate(loaded.status(), store.PlaceOf(kAuthorityName));
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
