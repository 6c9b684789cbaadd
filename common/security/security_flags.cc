#include "common/security/security_flags.h"

namespace paceline {
namespace {

constexpr char kGroup[] = "Security (docs/security.md)";

// A script whose variable is not set must not get plaintext instead of TLS.
std::string NotEmpty(const std::string& value) {
  return value.empty() ? "must not be empty: leave the flag out instead" : "";
}

}  // namespace

SecurityFlags::SecurityFlags(CLI::App& app, Sides sides) {
  const auto add = [&app](const char* flag, std::string& value,
                          const char* help) {
    return app.add_option(flag, value, help)->check(NotEmpty)->group(kGroup);
  };
  add("--tls-cert", server_.tls.cert,
      "PEM file: this process's certificate, then those that lead "
      "to the CA");
  add("--tls-key", server_.tls.key, "PEM file: the certificate's private key");
  add("--tls-ca", server_.tls.ca,
      "PEM file: where the certificates of the other side come from");
  if (sides != Sides::kClient) {
    add("--tls-client-auth", server_.tls_client_auth,
        "require: every client shows a certificate (default with "
        "--tls-ca); optional: or a token")
        ->type_name("require|optional");
    add("--token-file", server_.token_file,
        "The tokens that are taken: lines NAME ROLE sha256:HEX");
  }
  if (sides != Sides::kServer) {
    add("--tls-server-name", client_.tls_server_name,
        "The name in the server's certificate, if it is not that "
        "of the address");
    add("--token", client_.token_file, "File that holds this process's token");
  }
  app.add_flag("--insecure-plaintext", server_.insecure_plaintext,
               "Without TLS also beyond this machine: everybody on the network "
               "can read, and without tokens do, everything")
      ->group(kGroup);
}

absl::StatusOr<ClientSecurity> SecurityFlags::Client() const {
  ClientSecurityOptions options = client_;
  options.tls = server_.tls;
  options.insecure_plaintext = server_.insecure_plaintext;
  return MakeClientSecurity(options);
}

}  // namespace paceline
