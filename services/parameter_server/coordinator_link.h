#ifndef PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_

#include <grpcpp/channel.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/job/job_defaults.h"
#include "common/log/told_log.h"
#include "common/mailbox.h"
#include "common/rpc/session_client.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/parameter_server/command_runner.h"

namespace paceline {

// The parameter server's session with the coordinator: registers, hands its
// commands to the runner in order, keeps its lease beside them: a command may
// take longer than a lease, and a server that falls silent loses its jobs.
//
// A link that breaks is dialled again, and nothing is dropped for it. When the
// session is over, because the coordinator has given the server up or is in
// another life, the server registers anew, for as long as it takes, and says
// what it has: the coordinator lets it keep that or not. When none was reached
// for the orphan time everything that is hosted is dropped.
//
// What is over in a moment, and behind nothing, is carried out where it is
// heard.
//
// Run() on one thread; Stop() from any.
class CoordinatorLink {
 public:
  struct Options {
    // A new channel to the coordinator that notices a dead peer within
    // `liveness`. Called for every attempt.
    std::function<std::shared_ptr<grpc::Channel>(absl::Duration liveness)>
        connect;
    std::function<void()> refused = nullptr;  // SessionClient::Options
    std::string name;                         // "s0"
    std::string address;  // Where the parameter service is reached.
    std::string version;  // The program's.
    std::string failure_domain = {};
    uint64_t max_bytes = 0;    // ServerLimits::max_bytes().
    uint32_t connections = 1;  // Of use to it from one worker.
    absl::Duration orphan = kDefaultOrphan;
    // Called, on any thread, when the coordinator has taken the server in (OK),
    // and when that is over, or while its link is broken: why.
    std::function<void(const absl::Status&)> registration =
        [](const absl::Status&) {};
    // What those get who want to read the server's log; null: nothing.
    LogTeller tell_log = nullptr;
  };
  // All outlive the link. `each_turn` is called about ten times a second,
  // with the lease once it is known.
  CoordinatorLink(Options options, CommandRunner* runner,
                  std::function<void(absl::Duration lease)> each_turn);

  // Serves until Stop(), then gives OK. The one error it ends with before is
  // INVALID_ARGUMENT: the coordinator does not take this server's name or
  // address, and would not the next time. Where it does not let the server in
  // (UNAUTHENTICATED, PERMISSION_DENIED), that is logged and tried again: keys
  // may be exchanged meanwhile. Called once.
  absl::Status Run();

  // Makes Run() end: the coordinator is told, saves what is hosted and lets go
  // of it; then the link ends, but after `grace` at the latest. May be
  // repeated; the earliest end counts.
  void Stop(absl::Duration grace);

 private:
  using Session = SessionClient<v1::ServerMessage, v1::ServerCommand>;
  using Inbox = Mailbox<v1::ServerCommand>;

  // One session from beginning to end: OK after Stop(), otherwise why it is
  // over.
  absl::Status Serve();
  // Until the session is over or the end has come.
  absl::Status Exchange(Inbox& inbox, Session& session);
  void Obey(const v1::ServerCommand& command, Session& session);
  void TellLog(const v1::TellLog& question, Session& session);
  // The link is broken, or whole again.
  void TellLink(const absl::Status& link);
  // Housekeeping, when it is due.
  void TakeTurn();
  // Whether Stop() was called, and nothing is left to do or time is up. Tells
  // the coordinator, the first time, of the former.
  bool ShouldEnd(Session& session);
  // Waits before the next attempt; what ended the last one decides how long.
  void Pause(const absl::Status& ended);
  bool stopping() const;

  const Options options_;
  const std::shared_ptr<KnownTerm> term_ = std::make_shared<KnownTerm>();
  CommandRunner* const runner_;
  const std::function<void(absl::Duration)> each_turn_;
  const Clock& clock_ = Clock::Real();

  // Commands of the session that Run()'s thread has not carried out yet. As
  // long as there are any, what comes is behind them.
  std::atomic<int> unobeyed_ = 0;

  // Only Run()'s thread uses these.
  absl::Duration lease_ = kDefaultLease;  // Until the coordinator says.
  absl::Duration backoff_;
  bool welcomed_ = false;  // By the coordinator, in the present session.
  bool told_ = false;      // In it, that this server is leaving.
  bool has_held_ = false;  // What it was told of in `hello`.
  // Without a session what is hosted is kept until then.
  absl::Time kept_until_ = absl::InfinitePast();
  std::string last_fault_;
  absl::Time next_turn_ = absl::InfinitePast();

  mutable absl::Mutex mu_;
  absl::Time end_by_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  Inbox* inbox_ ABSL_GUARDED_BY(mu_) = nullptr;  // Of the session, if any.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_
