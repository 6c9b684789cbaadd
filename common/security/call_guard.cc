#include "common/security/call_guard.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/security/access_decision.h"
#include "common/security/loopback_address.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

constexpr absl::string_view kScheme = "bearer ";  // In any case (RFC 7235).

// Refused calls that are recorded, of each address.
constexpr RateLimiter::Limits kRefusals = {
    .per_second = 1, .burst = 20, .max_identities = 1000};

absl::string_view View(grpc::string_ref text) {
  return {text.data(), text.size()};
}

// One `authorization` with a token that the file knows; anything else is wrong.
void ReadToken(const grpc::ServerContextBase& context, const TokenFile* tokens,
               ShownCredentials& shown) {
  const auto [first, last] =
      context.client_metadata().equal_range("authorization");
  if (first == last) return;
  shown.token = ShownCredentials::Token::kWrong;
  const absl::string_view value = View(first->second);
  if (std::next(first) != last || tokens == nullptr ||
      !absl::StartsWithIgnoreCase(value, kScheme)) {
    return;
  }
  const auto identity = tokens->Get()->Match(value.substr(kScheme.size()));
  if (!identity.has_value()) return;
  shown.token = ShownCredentials::Token::kRight;
  shown.token_identity = *identity;
}

void ReadCertificate(const grpc::ServerContextBase& context,
                     ShownCredentials& shown) {
  const auto auth = context.auth_context();
  if (auth == nullptr) return;
  shown.certificate =
      !auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
  for (const grpc::string_ref& uri :
       auth->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    shown.certificate_uris.emplace_back(View(uri));
  }
}

}  // namespace

CallGuard::CallGuard(ServerSecurity security, const CallLimits& limits,
                     const Clock* clock, const ConnectionAccounts* accounts)
    : security_(std::move(security)),
      clock_(clock),
      accounts_(accounts),
      streams_(limits.open_streams),
      requests_(limits.requests),
      refusals_(kRefusals) {}

absl::StatusOr<Caller> CallGuard::Admit(const grpc::ServerContextBase& context,
                                        absl::string_view method,
                                        absl::string_view resource) {
  Caller caller;
  PACELINE_RETURN_IF_ERROR(Admit(context, method, resource, caller));
  return caller;
}

absl::Status CallGuard::Admit(const grpc::ServerContextBase& context,
                              absl::string_view method,
                              absl::string_view resource, Caller& caller) {
  caller.peer = context.peer();
  if (accounts_ != nullptr) caller.account = accounts_->Find(caller.peer);
  ShownCredentials shown;
  if (security_.open()) {
    shown.local = IsLoopbackAddress(caller.peer);
  } else {
    ReadToken(context, security_.tokens.get(), shown);
    if (security_.tls != nullptr) ReadCertificate(context, shown);
  }
  Admission who;
  const absl::Status refused = DecideAccess(security_.open(), shown,
                                            {.name = method,
                                             .roles = roles_.Of(method),
                                             .reach = roles_.ReachOf(method),
                                             .resource = resource},
                                            &who)
                                   .status();
  caller.identity = who.identity;
  caller.role = who.role;
  caller.namespaces = who.namespaces;
  if (refused.ok()) return Count(caller.identity, method);
  // Who is refused may have no identity, or as many as it likes.
  PACELINE_RETURN_IF_ERROR(Count(caller.host(), method));
  return refused;
}

absl::Status CallGuard::Count(absl::string_view whose,
                              absl::string_view method) {
  absl::Duration wait;
  {
    absl::MutexLock lock(&mu_);
    wait = requests_.Take(whose, clock_->Now());
  }
  if (wait == absl::ZeroDuration()) return absl::OkStatus();
  return RetryLater(WithReason(absl::ResourceExhaustedError(absl::StrCat(
                                   whose, " makes too many requests")),
                               kTooManyRequests,
                               {{"identity", std::string(whose)},
                                {"method", std::string(method)}}),
                    wait);
}

bool CallGuard::RecordsRefusalOf(const Caller& caller) {
  absl::MutexLock lock(&mu_);
  return refusals_.Take(caller.host(), clock_->Now()) == absl::ZeroDuration();
}

absl::StatusOr<StreamTicket> CallGuard::OpenStream(const Caller& caller) {
  StreamTicket ticket = streams_.Open(caller.identity);
  if (ticket != nullptr) return ticket;
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          caller.identity, " has too many streams open: close one first")),
      "TOO_MANY_STREAMS", {{"identity", caller.identity}});
}

}  // namespace paceline
