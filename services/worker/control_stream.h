#ifndef PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_
#define PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "common/rpc/client_stream.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"

namespace paceline {

// A worker's stream to the coordinator: one incarnation. Heartbeats run on a
// thread of their own, so that neither computing nor sleeping ends the lease.
// Thread-safe.
class ControlStream {
 public:
  // Says hello. Nothing is waited for.
  ControlStream(const std::string& coordinator, const std::string& name,
                bool evaluator);
  ~ControlStream();
  ControlStream(const ControlStream&) = delete;
  ControlStream& operator=(const ControlStream&) = delete;

  // The next command that is not a heartbeat. DEADLINE_EXCEEDED if none comes
  // in time; the status with which the stream ended; UNAVAILABLE if the
  // coordinator was not heard for two leases.
  absl::StatusOr<v1::WorkerCommand> Next(absl::Duration timeout);

  // The next command if one has come and `wanted` is true of it.
  std::optional<v1::WorkerCommand> TakeIf(
      bool (*wanted)(const v1::WorkerCommand&)) {
    return commands_.TakeIf(wanted);
  }

  // Sleeps until `until`. False if a command or the end of the stream came
  // before; the command is left for Next().
  bool SleepUntil(absl::Time until);

  // Whether something is to be taken with Next().
  bool Interrupted() { return commands_.Await(absl::ZeroDuration()); }

  void Send(v1::WorkerMessage message) { stream_->Send(std::move(message)); }

  // After the last message: the stream ends once it is sent. Waits for that.
  void Finish();

  // From the welcome on: heartbeats follow it.
  void SetLease(absl::Duration lease);

 private:
  using Stream = ClientStream<v1::WorkerMessage, v1::WorkerCommand>;

  void KeepLease();

  const Clock& clock_ = Clock::Real();
  Mailbox<v1::WorkerCommand> commands_;
  absl::Mutex mu_;
  absl::Duration lease_ ABSL_GUARDED_BY(mu_) = absl::Seconds(10);
  absl::Time last_heard_ ABSL_GUARDED_BY(mu_);
  bool lease_changed_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  std::unique_ptr<Stream> stream_;  // Its reactions use the above,
  std::thread heartbeats_;          // and this uses it.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_CONTROL_STREAM_H_
