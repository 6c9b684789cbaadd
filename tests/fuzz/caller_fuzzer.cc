// What a call shows of who makes it: the address, the names in a certificate,
// a token's identity.

#include "common/plain_name.h"
#include "common/security/access_decision.h"
#include "common/security/loopback_address.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  const std::string head = "\x05";
  return {head + FuzzText("paceline://worker/w0") + "ipv6:%5B::1%5D:80",
          head + FuzzText("paceline://admin/alice") + "dns:///localhost:80",
          head + FuzzText("https://x") + "ipv4:127.0.0.1:80,10.0.0.1:80",
          head + FuzzText("admin") + "unix:/run/x",
          head + FuzzText("paceline://admin@a+b/x") + "namespaces/a/jobs/j"};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const uint8_t shape = fuzz.Byte();
  const std::string uri(fuzz.Text());
  const absl::string_view address = fuzz.Rest();
  const auto identity = ParseIdentityUri(uri);
  ExpectInvalidArgument(identity.status());
  if (identity.ok()) {
    CHECK(IsPlainName(identity->name));
    // Namespaces may stand there in another order.
    const std::string again =
        absl::StrCat(kIdentityScheme, ToString(*identity));
    CHECK(uri.size() == again.size());
    CHECK(*ParseIdentityUri(again) == *identity);
  }
  ExpectInvalidArgument(ParseRole(uri).status());

  ShownCredentials shown;
  shown.local = IsLoopbackAddress(address);
  shown.token = static_cast<ShownCredentials::Token>(shape % 3);
  shown.token_identity = {v1::WORKER, "w0"};
  shown.certificate = (shape & 4) != 0;
  if (shown.certificate) shown.certificate_uris = {uri};
  if ((shape & 8) != 0) shown.certificate_uris.push_back(uri);
  const std::vector<v1::Role> roles = {v1::WORKER};
  const auto admission =
      DecideAccess(/*open=*/false, shown,
                   {"/a.B/Method", roles, v1::ONE_NAMESPACE, address});
  ExpectCode(admission.status(), {absl::StatusCode::kUnauthenticated,
                                  absl::StatusCode::kPermissionDenied});
  // Nobody gets in who did not show that they are a worker.
  if (admission.ok()) CHECK(admission->role == v1::WORKER);

  // And nobody reaches what is not in a namespace of theirs.
  const std::vector<v1::Role> people = {v1::ADMIN, v1::VIEWER};
  const auto reached =
      DecideAccess(/*open=*/false, shown,
                   {"/a.B/Method", people, v1::ONE_NAMESPACE, address});
  if (reached.ok() && !reached->namespaces.all()) {
    CHECK(reached->namespaces.HasResource(address));
  }
}

}  // namespace paceline
