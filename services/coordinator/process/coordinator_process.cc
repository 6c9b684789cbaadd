#include "services/coordinator/process/coordinator_process.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/metrics/series.h"
#include "common/security/certificate_watch.h"
#include "common/status.h"
#include "services/coordinator/leadership/kubernetes_lock.h"
#include "services/coordinator/leadership/postgres_lock.h"
#include "services/coordinator/leadership/term_file.h"
#include "services/coordinator/leadership/unchecked_lock.h"
#include "services/coordinator/process/leading.h"
#include "services/coordinator/process/standing_by.h"

namespace paceline {
namespace {

// An answer that comes later than that is none: a leader ends after 3 s
// without.
constexpr absl::Duration kLockTimeout = absl::Seconds(2);

absl::StatusOr<std::unique_ptr<LeaderLock>> MakeLock(
    const CoordinatorOptions& options) {
  absl::string_view text = options.leader_lock;
  if (text.empty()) return std::make_unique<UncheckedLock>();
  if (absl::ConsumePrefix(&text, "kubernetes:")) {
    KubernetesLock::Options lock{.lease = std::string(text),
                                 .label = options.leader_label};
    PACELINE_ASSIGN_OR_RETURN(lock.api, KubernetesApi::OfThisPod());
    lock.api.timeout = kLockTimeout;
    return std::make_unique<KubernetesLock>(std::move(lock));
  }
  if (absl::StartsWith(text, "postgresql://") ||
      absl::StartsWith(text, "postgres://")) {
    return std::make_unique<PostgresLock>(options.leader_lock, "paceline");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--leader-lock ", options.leader_lock,
      ": want kubernetes:LEASE or postgresql://USER@HOST/DATABASE"));
}

bool ListensEverywhere(absl::string_view listen) {
  return absl::StartsWith(listen, "0.0.0.0:") ||
         absl::StartsWith(listen, "[::]:");
}

// There is no other coordinator, or a person has said that this one leads.
absl::Status LeadAlone(const ProcessParts& parts) {
  Election::Own own;
  if (parts.options.store != ":memory:") {
    PACELINE_ASSIGN_OR_RETURN(own, TermFile(parts.options.store).Read());
  }
  if (own.followed > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "store ", parts.options.store,
        " is the copy of a coordinator that stood by: start it with "
        "--leader-lock or --standby-of, or remove ",
        parts.options.store, ".term if it is to lead with what it has"));
  }
  PACELINE_ASSIGN_OR_RETURN(const LeaderLock::Seen seen, parts.lock.Read());
  const LeaderRecord claim = parts.election.ClaimByOrder(seen, own);
  parts.election.Claimed(Clock::Real().Now(), claim,
                         parts.lock.Write(claim, seen.version));
  return Lead(parts);
}

}  // namespace

void AnnounceAddress(const std::string& address) {
  const std::string line =
      nlohmann::ordered_json{{"event", "listening"}, {"address", address}}
          .dump() +
      "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

absl::Status RunCoordinator(const CoordinatorOptions& options,
                            const ServerSecurity& security,
                            const ClientSecurity& dialling,
                            absl::Notification* told_to_stop) {
  PACELINE_ASSIGN_OR_RETURN(const auto lock, MakeLock(options));
  Election election({.name = options.name, .may_begin = options.may_begin});
  OwnAddress address(options.listen, options.advertise);
  auto registry = std::make_shared<prometheus::Registry>();
  LeadershipMetrics metrics(*registry);
  ExportBuild(*registry, options.jobs.version);
  const auto readiness = std::make_shared<Readiness>();
  PACELINE_ASSIGN_OR_RETURN(
      const auto monitoring,
      Monitoring::Serve(
          options.metrics,
          {registry, std::make_shared<CertificateMetrics>(security.tls)},
          readiness));
  const ProcessParts parts{.options = options,
                           .security = security,
                           .dialling = dialling,
                           .address = address,
                           .registry = *registry,
                           .readiness = *readiness,
                           .metrics_port = monitoring->port(),
                           .told_to_stop = *told_to_stop,
                           .lock = *lock,
                           .election = election,
                           .metrics = metrics};
  const bool one_of_several =
      !options.leader_lock.empty() || !options.standby_of.empty();
  if (!one_of_several) return LeadAlone(parts);
  if (options.store == ":memory:") {
    return absl::InvalidArgumentError(
        "a coordinator that may stand by needs a --store that is a file");
  }
  if (options.advertise.empty() && ListensEverywhere(options.listen)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "with --listen ", options.listen,
        " the other coordinator does not know where this one is: --advertise "
        "HOST:PORT"));
  }
  PACELINE_ASSIGN_OR_RETURN(const bool leads, StandBy(parts));
  return leads ? Lead(parts) : absl::OkStatus();
}

}  // namespace paceline
