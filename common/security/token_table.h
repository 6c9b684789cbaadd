#ifndef PACELINE_COMMON_SECURITY_TOKEN_TABLE_H_
#define PACELINE_COMMON_SECURITY_TOKEN_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/identity.h"
#include "common/security/watched_file.h"

namespace paceline {

// Longer ones are no tokens: they would not fit into the metadata either.
inline constexpr size_t kMaxTokenBytes = 4096;

// The bearer tokens that a server takes, by their SHA-256. Immutable.
class TokenTable {
 public:
  // Lines "NAME ROLE sha256:HEX", where ROLE may be bound to namespaces
  // (ParseBoundRole()); '#' begins a comment. A name may stand in
  // several lines, so that an old and a new token can both be valid for a time.
  // INVALID_ARGUMENT, with the line's number, if a line is otherwise or a
  // token stands there twice.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Whose token it is. The time it takes does not tell how much of a token was
  // right, nor in which line it stands.
  std::optional<Identity> Match(absl::string_view token) const;

  size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Identity identity;
    Digest digest;
  };

  static absl::StatusOr<Entry> ParseLine(absl::string_view line);

  std::vector<Entry> entries_;
};

// A TokenTable that follows its file.
using TokenFile = WatchedFile<TokenTable>;

// The errors of ReadSmallFile() and TokenTable::Parse(), with the path.
absl::StatusOr<std::shared_ptr<const TokenFile>> OpenTokenFile(
    const std::string& path, absl::Duration interval);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_TOKEN_TABLE_H_
