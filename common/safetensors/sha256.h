#ifndef PACELINE_COMMON_SAFETENSORS_SHA256_H_
#define PACELINE_COMMON_SAFETENSORS_SHA256_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX.

namespace paceline {

// SHA-256 over bytes that come in pieces. Movable. Thread-compatible.
class Sha256 {
 public:
  Sha256();

  void Update(absl::string_view bytes);

  // 64 hexadecimal digits in lower case; afterwards it begins anew.
  std::string HexDigest();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Of these bytes alone.
std::string HexSha256(absl::string_view bytes);

// Whether `text` could come from HexDigest().
bool IsHexDigest(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_SHA256_H_
