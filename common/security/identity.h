#ifndef PACELINE_COMMON_SECURITY_IDENTITY_H_
#define PACELINE_COMMON_SECURITY_IDENTITY_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/security/namespaces.h"
#include "protos/paceline/v1/access.pb.h"

namespace paceline {

// Who a certificate or a token stands for.
struct Identity {
  v1::Role role = v1::ROLE_UNSPECIFIED;
  std::string name;
  Namespaces namespaces = {};  // Where it has the role.

  friend bool operator==(const Identity&, const Identity&) = default;
};

// "admin", "viewer", "worker", "server", "coordinator"; "none" for any other.
absl::string_view RoleName(v1::Role role);

// INVALID_ARGUMENT for what is none of them.
absl::StatusOr<v1::Role> ParseRole(absl::string_view text);

// A role that may be bound to namespaces, as certificates and token files have
// it, and who has it: "admin", "viewer@vision", "admin@speech+vision".
// INVALID_ARGUMENT for what is none, and for a role that cannot be bound: admin
// and viewer can. REQUIRES: `name` is a plain name.
absl::StatusOr<Identity> ParseBoundRole(absl::string_view role,
                                        absl::string_view name);

// "admin/alice", "admin@speech+vision/alice".
std::string ToString(const Identity& identity);

// The name of a client certificate, "paceline://ROLE/NAME" (a URI in its
// subjectAltName), where ROLE may be bound. INVALID_ARGUMENT if it is not
// exactly that.
inline constexpr absl::string_view kIdentityScheme = "paceline://";
absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri);

// Who may call which method, as the protos say (access.proto). Thread-safe.
class MethodRoles {
 public:
  // The roles of a method, "/paceline.v1.JobService/GetJob". Empty for one that
  // names none and for one that is not linked into this program. Valid as long
  // as this is.
  absl::Span<const v1::Role> Of(absl::string_view method);
  // What it reaches.
  v1::Reach ReachOf(absl::string_view method);

 private:
  struct Access {
    std::vector<v1::Role> roles;
    v1::Reach reach = v1::REACH_UNSPECIFIED;
  };

  // Null for what is no method, or names no role.
  const Access* Find(absl::string_view method);

  absl::Mutex mu_;
  // What has been asked for; only methods that exist, so it stays small.
  absl::node_hash_map<std::string, Access> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_IDENTITY_H_
