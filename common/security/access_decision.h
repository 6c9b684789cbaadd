#ifndef PACELINE_COMMON_SECURITY_ACCESS_DECISION_H_
#define PACELINE_COMMON_SECURITY_ACCESS_DECISION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/security/identity.h"
#include "protos/paceline/v1/access.pb.h"

namespace paceline {

// What a call shows of its caller.
struct ShownCredentials {
  enum class Token { kNone, kWrong, kRight };

  bool local = false;  // It comes from this machine.
  Token token = Token::kNone;
  Identity token_identity;  // If the token is right.
  // The URI names of the certificate that the handshake verified, if any.
  std::vector<std::string> certificate_uris;
  bool certificate = false;
};

// Who a call is from, and as what it may go on.
struct Admission {
  std::string identity;  // "admin/alice"; "local" or "anyone" without a check.
  v1::Role role = v1::ROLE_UNSPECIFIED;
  Namespaces namespaces = {};  // Where it has the role.
};

// What is called.
struct CalledMethod {
  absl::string_view name;            // "/paceline.v1.JobService/GetJob"
  absl::Span<const v1::Role> roles;  // Who may.
  v1::Reach reach = v1::REACH_UNSPECIFIED;
  // What the request is about, as the request names it:
  // "namespaces/vision/jobs/mnist". Empty: the cluster.
  absl::string_view resource = {};
};

// May this caller call the method, about that? Pure. `open`: nobody can show
// who they are, and everybody is an administrator who may do everything, also
// what is for workers and servers.
//
// A token says who it is before the certificate does, and a wrong one is
// refused even beside a good certificate. Errors have an ErrorInfo with the
// reason, the method, and the role where it is known:
//   UNAUTHENTICATED    NO_CREDENTIALS, BAD_TOKEN, BAD_CERTIFICATE (it does not
//                      have exactly one name "paceline://ROLE/NAME").
//   PERMISSION_DENIED  ROLE_NOT_ALLOWED; NAMESPACE_NOT_ALLOWED: the role is
//                      bound to other namespaces, whether the resource exists
//                      or not; METHOD_WITHOUT_ROLES, to everybody.
// With `known`, that becomes who it is as soon as the call has shown it, also
// where the call is refused.
absl::StatusOr<Admission> DecideAccess(bool open, const ShownCredentials& shown,
                                       const CalledMethod& method,
                                       Admission* known = nullptr);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_ACCESS_DECISION_H_
