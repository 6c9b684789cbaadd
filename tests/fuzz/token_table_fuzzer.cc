// Files of tokens: a server's table, a client's own.

#include "common/plain_name.h"
#include "common/security/bearer_token.h"
#include "common/security/token_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  // SHA-256 of "abc".
  const std::string line =
      "alice admin sha256:"
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  return {"# who\n" + line + "\n\n w0\tworker\tsha256:" + std::string(64, '0'),
          line + "\n" + line, "abc\n", " visible-word "};
}

void FuzzOne(absl::string_view input) {
  const auto table = TokenTable::Parse(input);
  ExpectInvalidArgument(table.status());
  if (table.ok()) {
    const auto identity = table->Match("abc");
    if (identity.has_value()) CHECK(IsPlainName(identity->name));
    table->Match(input);
  }
  const auto token = ParseBearerToken(input);
  ExpectInvalidArgument(token.status());
  if (!token.ok()) return;
  CHECK(!token->empty() && input.find(*token) != absl::string_view::npos);
  for (const char c : *token) CHECK(c > ' ' && c <= '~');
}

}  // namespace paceline
