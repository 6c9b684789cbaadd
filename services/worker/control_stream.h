#ifndef PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_
#define PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/job/job_defaults.h"
#include "common/log/told_log.h"
#include "common/mailbox.h"
#include "common/rpc/coordinator_addresses.h"
#include "common/rpc/session_client.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/worker/dial.h"

namespace paceline {

// A worker's session with the coordinator, from its hello to its end: one job
// after the other. A link that breaks is another link later, and nothing else.
// Thread-safe.
class ControlStream {
 public:
  // Says hello to whoever leads of the coordinators at these addresses. Nothing
  // is waited for. Without one it ends after `orphan`. `on_link` and `term`: as
  // SessionClient's. `tell_log` answers those who ask for the worker's log; the
  // hello says whether there is one.
  ControlStream(
      std::shared_ptr<CoordinatorAddresses> coordinators, v1::WorkerHello hello,
      const Dial& dial = DialPlainly, absl::Duration orphan = kDefaultOrphan,
      std::function<void(const absl::Status&)> on_link =
          [](const absl::Status&) {},
      std::shared_ptr<KnownTerm> term = nullptr, LogTeller tell_log = nullptr);
  ControlStream(const ControlStream&) = delete;
  ControlStream& operator=(const ControlStream&) = delete;

  // The next command that is not a heartbeat. DEADLINE_EXCEEDED if none comes
  // in time; the status with which the session ended; UNAVAILABLE if the
  // coordinator was not heard for two leases before there was one, or not
  // reached for the orphan time; CANCELLED after Interrupt().
  absl::StatusOr<v1::WorkerCommand> Next(absl::Duration timeout);

  // The next command if one has come and `wanted` is true of it.
  std::optional<v1::WorkerCommand> TakeIf(
      bool (*wanted)(const v1::WorkerCommand&));

  // Sleeps until `until`. False if a command or the end of the session came
  // before; the command is left for Next().
  bool SleepUntil(absl::Time until);

  // Whether something is to be taken with Next().
  bool Interrupted() { return commands_.Await(absl::ZeroDuration()); }

  // Calls `stopping`, from any thread, once `stop` has come, the session has
  // ended or Interrupt() was called; at once if that was before. It must not
  // block. An empty function: nobody is called any more, and no call goes on
  // when this returns.
  void WhenStopping(std::function<void()> stopping);

  // A `stop` has come and was not taken yet, or nothing can come any more.
  bool stopping();

  // Calls `heard`, from any thread, whenever a command has come or nothing can
  // come any more. It must not block. An empty function: nobody is called any
  // more, and no call goes on when this returns.
  void WhenHeard(std::function<void()> heard);

  // Calls `granted`, from another thread, with a grant that comes while Next()
  // waits and nothing else is to be taken; before Next() returns it. It must
  // not wait for what comes by this stream. An empty function: nobody is called
  // any more.  REQUIRES: Next() does not wait.
  void WhenGranted(std::function<void(const v1::Grant&)> granted);

  // Calls `rewired`, from any thread, for each shard that has another server: a
  // `rewire` does not come by Next(). Those of the present assignment that came
  // before are told at once. It must not block. An empty function: nobody is
  // called any more, and no call goes on when this returns.
  void WhenRewired(std::function<void(const v1::Rewire&)> rewired);

  // Heartbeats say from now on whether the worker waits for parameter servers.
  // An empty function: they do not, and no call goes on when this returns.
  void WhenBeating(std::function<bool()> waits_for_servers);

  // Nothing can come any more.
  bool ended() const { return commands_.closed(); }

  // Ends the waiting for commands, as if the session had ended; what is sent
  // still goes out.
  void Interrupt();

  void Send(v1::WorkerMessage message) { session_.Send(std::move(message)); }

  // After the last message: the session ends once it is heard. Waits for that,
  // a lease at most.
  void Finish();

  // From the registration on: heartbeats follow it.
  void SetLease(absl::Duration lease) { session_.SetLease(lease); }
  absl::Duration lease() const { return session_.lease(); }

 private:
  using Session = SessionClient<v1::WorkerMessage, v1::WorkerCommand>;

  void OnMessage(v1::WorkerCommand& command);
  void TellLog(const v1::TellLog& question);
  void Close(const absl::Status& status);
  void CallStopping() ABSL_LOCKS_EXCLUDED(stop_mu_);
  void FillIn(v1::Heartbeat& heartbeat) ABSL_LOCKS_EXCLUDED(beat_mu_);
  void CallHeard() ABSL_LOCKS_EXCLUDED(heard_mu_);
  void Rewired(const v1::Rewire& rewire) ABSL_LOCKS_EXCLUDED(rewire_mu_);
  void Put(v1::WorkerCommand command) ABSL_LOCKS_EXCLUDED(grant_mu_);
  void BeginNext() ABSL_LOCKS_EXCLUDED(grant_mu_);
  void EndNext() ABSL_LOCKS_EXCLUDED(grant_mu_);
  void OnTaken(const v1::WorkerCommand& command) ABSL_LOCKS_EXCLUDED(stop_mu_);
  bool StoppingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(stop_mu_) {
    return stops_ > 0 || commands_.closed();
  }

  const Clock& clock_ = Clock::Real();
  const LogTeller tell_log_;
  Mailbox<v1::WorkerCommand> commands_;
  absl::Notification ended_;  // The session itself.

  // Held while `when_stopping_` runs.
  absl::Mutex stop_mu_;
  int stops_ ABSL_GUARDED_BY(stop_mu_) = 0;  // Came and were not taken.
  std::function<void()> when_stopping_ ABSL_GUARDED_BY(stop_mu_);

  // Held while `when_heard_` runs.
  absl::Mutex heard_mu_;
  std::function<void()> when_heard_ ABSL_GUARDED_BY(heard_mu_);

  // Held while `when_granted_` runs.
  absl::Mutex grant_mu_;
  bool awaited_ ABSL_GUARDED_BY(grant_mu_) = false;  // What comes next.
  std::function<void(const v1::Grant&)> when_granted_
      ABSL_GUARDED_BY(grant_mu_);

  // Held while `when_rewired_` runs.
  absl::Mutex rewire_mu_;
  std::vector<v1::Rewire> rewires_
      ABSL_GUARDED_BY(rewire_mu_);  // Since `begin`.
  std::function<void(const v1::Rewire&)> when_rewired_
      ABSL_GUARDED_BY(rewire_mu_);

  // Held while `waits_for_servers_` runs.
  absl::Mutex beat_mu_;
  std::function<bool()> waits_for_servers_ ABSL_GUARDED_BY(beat_mu_);

  Session session_;  // Last: its reactions use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_
