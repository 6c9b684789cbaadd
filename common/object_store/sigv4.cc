#include "common/object_store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/safetensors/sha256.h"

namespace paceline {
namespace {

constexpr absl::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr absl::string_view kService = "s3";
constexpr absl::string_view kTerminator = "aws4_request";

std::string Hmac(absl::string_view key, absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             digest.data(), &size) != nullptr);
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

// Without blanks at the ends, and one where there are several.
std::string Squeezed(absl::string_view value) {
  std::string text(value);
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

}  // namespace

std::string UriEncode(absl::string_view text, bool keep_slashes) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' ||
        c == '~' || (c == '/' && keep_slashes)) {
      encoded.push_back(c);
    } else {
      absl::StrAppend(&encoded, "%",
                      absl::AsciiStrToUpper(
                          absl::BytesToHexString(absl::string_view(&c, 1))));
    }
  }
  return encoded;
}

std::string EncodeQuery(const std::map<std::string, std::string>& query) {
  // In the order of the encoded names, which those of S3 do not change.
  std::vector<std::string> parts;
  parts.reserve(query.size());
  for (const auto& [name, value] : query) {
    parts.push_back(
        absl::StrCat(UriEncode(name, false), "=", UriEncode(value, false)));
  }
  return absl::StrJoin(parts, "&");
}

void Sign(const AccessKey& key, absl::string_view region, absl::Time now,
          SignedCall& call) {
  const std::string time =
      absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
  const std::string date = time.substr(0, time.find('T'));
  call.headers["x-amz-date"] = time;
  call.headers["x-amz-content-sha256"] = call.payload_sha256;
  if (!key.session_token.empty()) {
    call.headers["x-amz-security-token"] = key.session_token;
  }
  std::string canonical_headers;
  std::vector<std::string> names;
  for (const auto& [name, value] : call.headers) {
    absl::StrAppend(&canonical_headers, name, ":", Squeezed(value), "\n");
    names.push_back(name);
  }
  const std::string signed_headers = absl::StrJoin(names, ";");
  const std::string canonical =
      absl::StrCat(call.method, "\n", UriEncode(call.path, true), "\n",
                   EncodeQuery(call.query), "\n", canonical_headers, "\n",
                   signed_headers, "\n", call.payload_sha256);
  const std::string scope =
      absl::StrCat(date, "/", region, "/", kService, "/", kTerminator);
  const std::string to_sign = absl::StrCat(kAlgorithm, "\n", time, "\n", scope,
                                           "\n", HexSha256(canonical));
  const std::string signing_key =
      Hmac(Hmac(Hmac(Hmac(absl::StrCat("AWS4", key.secret), date), region),
                kService),
           kTerminator);
  call.headers["authorization"] = absl::StrCat(
      kAlgorithm, " Credential=", key.id, "/", scope,
      ", SignedHeaders=", signed_headers,
      ", Signature=", absl::BytesToHexString(Hmac(signing_key, to_sign)));
}

}  // namespace paceline
