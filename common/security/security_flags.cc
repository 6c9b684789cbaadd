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
  add("--tls-cert", tls_.cert,
      "PEM file: this process's certificate, then those that lead "
      "to the CA");
  add("--tls-key", tls_.key, "PEM file: the certificate's private key");
  add("--tls-ca", tls_.ca,
      "PEM file: where the certificates of the other side come from");
  if (sides != Sides::kClient) {
    add("--tls-client-auth", tls_client_auth_,
        "require: every client shows a certificate (default with "
        "--tls-ca); optional: or a token")
        ->type_name("require|optional");
    add("--token-file", token_file_,
        "The tokens that are taken: lines NAME ROLE sha256:HEX");
  }
  if (sides != Sides::kServer) {
    add("--tls-server-name", tls_server_name_,
        "The name in the server's certificate, if it is not that "
        "of the address");
    add("--token", token_, "File that holds this process's token");
  }
  app.add_flag("--insecure-plaintext", insecure_plaintext_,
               "Without TLS also beyond this machine: everybody on the network "
               "can read, and without tokens do, everything")
      ->group(kGroup);
}

absl::StatusOr<ServerSecurity> SecurityFlags::Server() const {
  ServerSecurityOptions options;
  options.tls = tls_;
  options.tls_client_auth = tls_client_auth_;
  options.token_file = token_file_;
  options.insecure_plaintext = insecure_plaintext_;
  return MakeServerSecurity(options);
}

absl::StatusOr<ClientSecurity> SecurityFlags::Client() const {
  ClientSecurityOptions options;
  options.tls = tls_;
  options.tls_server_name = tls_server_name_;
  options.token_file = token_;
  options.insecure_plaintext = insecure_plaintext_;
  return MakeClientSecurity(options);
}

}  // namespace paceline
