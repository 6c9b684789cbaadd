#include "common/security/certificate_authority.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/security/openssl_types.h"
#include "common/status.h"

namespace paceline {
namespace {

using Certificate = OpensslPtr<X509>;
using Key = OpensslPtr<EVP_PKEY>;
using Extension = OpensslPtr<X509_EXTENSION>;

struct ParsedPair {
  Certificate certificate;
  Key key;
};

constexpr int kSerialBytes = 16;

// What OpenSSL says of the last call that failed, which was to do `what`.
absl::Status Failed(absl::StatusCode code, absl::string_view what) {
  char text[256] = "";
  ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::Status(code, absl::StrCat("cannot ", what, ": ", text));
}

template <class Write>
absl::StatusOr<std::string> ToPem(const Write& write) {
  const OpensslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) {
    return Failed(absl::StatusCode::kInternal, "write PEM");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, size);
}

absl::StatusOr<KeyPair> ToPair(X509* certificate, EVP_PKEY* key) {
  KeyPair pair;
  PACELINE_ASSIGN_OR_RETURN(pair.certificate, ToPem([&](BIO* bio) {
                              return PEM_write_bio_X509(bio, certificate);
                            }));
  PACELINE_ASSIGN_OR_RETURN(pair.key, ToPem([&](BIO* bio) {
                              return PEM_write_bio_PrivateKey(bio, key, nullptr,
                                                              nullptr, 0,
                                                              nullptr, nullptr);
                            }));
  return pair;
}

absl::StatusOr<ParsedPair> Parse(const KeyPair& pair) {
  ParsedPair parsed;
  parsed.certificate.reset(PEM_read_bio_X509(BioOf(pair.certificate).get(),
                                             nullptr, nullptr, nullptr));
  if (parsed.certificate == nullptr) {
    return Failed(absl::StatusCode::kInvalidArgument, "read the certificate");
  }
  parsed.key.reset(PEM_read_bio_PrivateKey(BioOf(pair.key).get(), nullptr,
                                           nullptr, nullptr));
  if (parsed.key == nullptr) {
    return Failed(absl::StatusCode::kInvalidArgument, "read the private key");
  }
  if (X509_check_private_key(parsed.certificate.get(), parsed.key.get()) != 1) {
    return Failed(absl::StatusCode::kInvalidArgument,
                  "use the private key with the certificate");
  }
  return parsed;
}

absl::StatusOr<Extension> MakeExtension(X509* certificate, X509* issuer,
                                        int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr) {
    return Failed(absl::StatusCode::kInvalidArgument,
                  absl::StrCat("put ", value, " into a certificate"));
  }
  return extension;
}

absl::Status Extend(X509* certificate, X509* issuer, int nid,
                    const std::string& value) {
  PACELINE_ASSIGN_OR_RETURN(const Extension extension,
                            MakeExtension(certificate, issuer, nid, value));
  if (X509_add_ext(certificate, extension.get(), -1) != 1) {
    return Failed(absl::StatusCode::kInternal, "extend a certificate");
  }
  return absl::OkStatus();
}

// OpenSSL's list is split at commas and knows no way around them.
absl::StatusOr<std::string> AlternativeNames(
    const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.find(',') == std::string::npos) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": a name must not contain a comma"));
  }
  return absl::StrJoin(names, ",");
}

bool SetTimes(X509* certificate, const CertificateRequest& request) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       absl::ToTimeT(request.valid_from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       absl::ToTimeT(request.valid_until)) != nullptr;
}

bool SetSerial(X509* certificate) {
  uint8_t serial[kSerialBytes];
  if (RAND_bytes(serial, sizeof(serial)) != 1) return false;
  serial[0] &= 0x7f;  // Positive.
  BIGNUM* const number = BN_bin2bn(serial, sizeof(serial), nullptr);
  const bool set =
      number != nullptr &&
      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

// A new key, and all of its certificate but the issuer, the extensions and the
// signature.
absl::StatusOr<ParsedPair> Blank(const CertificateRequest& request) {
  ParsedPair blank;
  blank.key.reset(EVP_EC_gen("P-256"));
  blank.certificate.reset(X509_new());
  X509* const x = blank.certificate.get();
  if (blank.key == nullptr || x == nullptr ||
      X509_set_version(x, X509_VERSION_3) != 1 || !SetSerial(x) ||
      !SetTimes(x, request) ||
      X509_NAME_add_entry_by_txt(
          X509_get_subject_name(x), "CN", MBSTRING_UTF8,
          reinterpret_cast<const uint8_t*>(request.common_name.c_str()), -1, -1,
          0) != 1 ||
      X509_set_pubkey(x, blank.key.get()) != 1) {
    return Failed(absl::StatusCode::kInternal, "make a certificate");
  }
  return blank;
}

absl::Status Sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) != 0) return absl::OkStatus();
  return Failed(absl::StatusCode::kInternal, "sign a certificate");
}

// The value of the extension of that kind; null if there is none.
const ASN1_OCTET_STRING* Value(X509* certificate, int nid) {
  const int index = X509_get_ext_by_NID(certificate, nid, -1);
  if (index < 0) return nullptr;
  return X509_EXTENSION_get_data(X509_get_ext(certificate, index));
}

absl::Time EndOf(const X509* certificate) {
  return TimeOf(X509_get0_notAfter(certificate)).value_or(absl::InfinitePast());
}

}  // namespace

absl::StatusOr<CertificateAuthority> CertificateAuthority::Create(
    const CertificateRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(ParsedPair made, Blank(request));
  X509* const x = made.certificate.get();
  if (X509_set_issuer_name(x, X509_get_subject_name(x)) != 1) {
    return Failed(absl::StatusCode::kInternal, "name an issuer");
  }
  const std::pair<int, const char*> extensions[] = {
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign,cRLSign"},
      {NID_subject_key_identifier, "hash"}};
  for (const auto& [nid, value] : extensions) {
    PACELINE_RETURN_IF_ERROR(Extend(x, x, nid, value));
  }
  PACELINE_RETURN_IF_ERROR(Sign(x, made.key.get()));
  PACELINE_ASSIGN_OR_RETURN(KeyPair pair, ToPair(x, made.key.get()));
  return CertificateAuthority(std::move(made.certificate), std::move(made.key),
                              std::move(pair));
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Load(
    const KeyPair& pair) {
  PACELINE_ASSIGN_OR_RETURN(ParsedPair parsed, Parse(pair));
  if (X509_check_ca(parsed.certificate.get()) != 1) {
    return absl::InvalidArgumentError("the certificate is not a CA's");
  }
  return CertificateAuthority(std::move(parsed.certificate),
                              std::move(parsed.key), pair);
}

absl::StatusOr<KeyPair> CertificateAuthority::Issue(
    const CertificateRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const std::string names,
                            AlternativeNames(request.names));
  PACELINE_ASSIGN_OR_RETURN(const ParsedPair made, Blank(request));
  X509* const x = made.certificate.get();
  X509* const issuer = certificate_.get();
  if (X509_set_issuer_name(x, X509_get_subject_name(issuer)) != 1) {
    return Failed(absl::StatusCode::kInternal, "name an issuer");
  }
  PACELINE_RETURN_IF_ERROR(
      Extend(x, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  PACELINE_RETURN_IF_ERROR(
      Extend(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth"));
  PACELINE_RETURN_IF_ERROR(
      Extend(x, issuer, NID_authority_key_identifier, "keyid"));
  if (!names.empty()) {
    PACELINE_RETURN_IF_ERROR(Extend(x, issuer, NID_subject_alt_name, names));
  }
  PACELINE_RETURN_IF_ERROR(Sign(x, key_.get()));
  return ToPair(x, made.key.get());
}

absl::Status CertificateAuthority::Check(
    const KeyPair& issued, const CertificateRequest& request) const {
  const auto parsed = Parse(issued);
  if (!parsed.ok()) {
    return absl::FailedPreconditionError(parsed.status().message());
  }
  X509* const x = parsed->certificate.get();
  if (X509_verify(x, key_.get()) != 1) {
    ERR_clear_error();
    return absl::FailedPreconditionError("it is another CA's");
  }
  PACELINE_ASSIGN_OR_RETURN(const std::string names,
                            AlternativeNames(request.names));
  PACELINE_ASSIGN_OR_RETURN(
      const Extension wanted,
      MakeExtension(x, certificate_.get(), NID_subject_alt_name, names));
  const ASN1_OCTET_STRING* const has = Value(x, NID_subject_alt_name);
  if (has == nullptr ||
      ASN1_OCTET_STRING_cmp(has, X509_EXTENSION_get_data(wanted.get())) != 0) {
    return absl::FailedPreconditionError("it has other names");
  }
  if (TimeOf(X509_get0_notBefore(x)).value_or(absl::InfinitePast()) >
      request.valid_from) {
    return absl::FailedPreconditionError("it is not valid yet");
  }
  const absl::Time end = EndOf(x);
  if (end < request.valid_until) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it ends at ", absl::FormatTime(end, absl::UTCTimeZone())));
  }
  return absl::OkStatus();
}

absl::Time CertificateAuthority::valid_until() const {
  return EndOf(certificate_.get());
}

}  // namespace paceline
