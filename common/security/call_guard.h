#ifndef PACELINE_COMMON_SECURITY_CALL_GUARD_H_
#define PACELINE_COMMON_SECURITY_CALL_GUARD_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/connections/connection_accounts.h"
#include "common/security/identity.h"
#include "common/security/rate_limiter.h"
#include "common/security/security.h"

namespace paceline {

// Who makes a call.
struct Caller {
  // "admin/alice". Where no credentials are checked: "local" from this machine,
  // "anyone" from another.
  std::string identity;
  v1::Role role = v1::ROLE_UNSPECIFIED;
  Namespaces namespaces = {};  // Where it has the role.
  std::string peer;            // Its address, as gRPC writes it.
  // Of its connection; null where nobody counts that.
  std::shared_ptr<ConnectionAccount> account;

  // To be told of the one message of a call, and whether the call was let in.
  void Took(size_t bytes, bool admitted) const {
    if (account == nullptr) return;
    if (admitted) account->Authorize();
    account->Take(bytes);
  }

  // "ipv4:10.0.0.7" of "ipv4:10.0.0.7:5123".
  absl::string_view host() const {
    return absl::string_view(peer).substr(0, peer.rfind(':'));
  }
};

// The reason of a call that is one too many.
inline constexpr absl::string_view kTooManyRequests = "TOO_MANY_REQUESTS";

// The limits of each identity; calls that are refused count for the address
// they come from.
struct CallLimits {
  // 0 `per_second`: no limit.
  RateLimiter::Limits requests = {.per_second = 1'000, .burst = 2'000};
  size_t open_streams = 10'000;  // 0: no limit.
};

// Asks every call of every service who makes it and whether it may. The
// adaptors begin with it, because a server without TLS gives gRPC no other
// place to ask. One per process; thread-safe.
class CallGuard {
 public:
  // `clock` and `accounts`, those of the server's connections, outlive it.
  CallGuard(ServerSecurity security, const CallLimits& limits,
            const Clock* clock, const ConnectionAccounts* accounts = nullptr);

  // Who calls `method`, "/paceline.v1.JobService/GetJob", about `resource`
  // (CalledMethod). The errors of DecideAccess(), and
  //   RESOURCE_EXHAUSTED  TOO_MANY_REQUESTS, with a RetryInfo.
  absl::StatusOr<Caller> Admit(const grpc::ServerContextBase& context,
                               absl::string_view method,
                               absl::string_view resource = "");
  // Admits as above; `caller` becomes what is known of it, also where it is
  // refused: the address, and the identity and role if it has shown them.
  absl::Status Admit(const grpc::ServerContextBase& context,
                     absl::string_view method, absl::string_view resource,
                     Caller& caller);

  // Whether one more refused call of the caller's address goes into an audit
  // record: the first 20 do, and then one a second. Whoever sends many must not
  // push out of the record what was done.
  bool RecordsRefusalOf(const Caller& caller);

  // Counts a stream of the caller for as long as the ticket lives, which may be
  // longer than the guard does.
  //   RESOURCE_EXHAUSTED  TOO_MANY_STREAMS: it has as many open as it may.
  absl::StatusOr<StreamTicket> OpenStream(const Caller& caller);

 private:
  absl::Status Count(absl::string_view whose, absl::string_view method);

  const ServerSecurity security_;
  const Clock* const clock_;
  const ConnectionAccounts* const accounts_;
  MethodRoles roles_;
  StreamLimiter streams_;

  absl::Mutex mu_;
  RateLimiter requests_ ABSL_GUARDED_BY(mu_);
  RateLimiter refusals_ ABSL_GUARDED_BY(mu_);  // Recorded, by address.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_CALL_GUARD_H_
