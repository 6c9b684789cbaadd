#include "common/security/token_table.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/log/log.h"
#include "common/plain_name.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<TokenTable::Entry> TokenTable::ParseLine(
    absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 3) {
    return absl::InvalidArgumentError("it must be 'NAME ROLE sha256:HEX'");
  }
  if (!IsPlainName(words[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name has ", kPlainNameRule));
  }
  PACELINE_ASSIGN_OR_RETURN(Identity identity,
                            ParseBoundRole(words[1], words[0]));
  absl::string_view hex = words[2];
  // What does not look like a hash may be a token: it is not repeated here.
  if (!absl::ConsumePrefix(&hex, "sha256:") ||
      hex.size() != 2 * SHA256_DIGEST_LENGTH ||
      !std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit)) {
    return absl::InvalidArgumentError(
        "the token must be given as sha256: and 64 hexadecimal digits: "
        "printf %s TOKEN | sha256sum");
  }
  Entry entry{std::move(identity), {}};
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), entry.digest.begin());
  return entry;
}

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text) {
  TokenTable table;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = absl::StrCat("line ", number);
    PACELINE_ASSIGN_OR_RETURN(Entry entry, Annotate(ParseLine(line), where));
    for (const Entry& other : table.entries_) {
      if (other.digest != entry.digest) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": the token is that of '", other.identity.name, "' as well"));
    }
    table.entries_.push_back(std::move(entry));
  }
  return table;
}

std::optional<Identity> TokenTable::Match(absl::string_view token) const {
  if (token.empty() || token.size() > kMaxTokenBytes) return std::nullopt;
  Digest digest;
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(),
         digest.data());
  const Entry* match = nullptr;
  for (const Entry& entry : entries_) {
    // All lines, whatever was found.
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      match = &entry;
    }
  }
  if (match == nullptr) return std::nullopt;
  return match->identity;
}

absl::StatusOr<std::shared_ptr<const TokenFile>> OpenTokenFile(
    const std::string& path, absl::Duration interval) {
  return TokenFile::Open(
      path, interval,
      {.parse = &TokenTable::Parse,
       .unusable =
           "the token file cannot be used; the tokens stay as they were",
       .changed = [](const std::string& file, const TokenTable& table) {
         LogInfo("the token file has changed",
                 {{"file", file}, {"tokens", table.size()}});
       }});
}

}  // namespace paceline
