// The command's config file.

#include "services/cli/admin/connection.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/quiet_protobuf.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {R"(current-context: lab
contexts:
  lab:
    address: coordinator.lab:7070
    namespace: vision
    tls-ca: lab-ca.pem
    token-file: lab.token
    insecure-plaintext: "true"
    request-timeout: 5s
  other: {address: "[::1]:1"}
)",
          "contexts: {\"\": {address: 'a\"b\\n'}}",
          "contexts:\n  ? [a]\n  : {address: x}", std::string(2000, '{')};
}

void FuzzOne(absl::string_view input) {
  const auto config = ParseConfigFile(input);
  ExpectInvalidArgument(config.status());
  if (!config.ok()) return;
  if (!IsUtf8(input)) return;  // Of other texts what is wrong becomes U+FFFD.
  const auto again = ParseConfigFile(FormatConfigFile(*config));
  CHECK(again.ok());
  CHECK(again->current_context == config->current_context);
  CHECK(again->contexts == config->contexts);
  const auto nothing = [](const char*) { return std::string(); };
  ExpectCode(ResolveConnection(ConnectionFlags(), nothing, *config).status(),
             {absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound});
}

}  // namespace paceline
