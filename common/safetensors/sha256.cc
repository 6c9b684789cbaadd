#include "common/safetensors/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr size_t kDigestBytes = 32;

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

// These calls fail for want of memory or of the algorithm; the program can go
// on with neither.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr);
  CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(absl::string_view bytes) {
  CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::HexDigest() {
  std::array<unsigned char, kDigestBytes> digest;
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  CHECK(size == digest.size());
  CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string HexSha256(absl::string_view bytes) {
  Sha256 sha256;
  sha256.Update(bytes);
  return sha256.HexDigest();
}

bool IsHexDigest(absl::string_view text) {
  return text.size() == 2 * kDigestBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace paceline
