#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/stream_registry.h"
#include "common/security/rate_limiter.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/watch/job_events.h"
#include "services/coordinator/watch/watch_pump.h"

namespace paceline {

// One WatchJob stream. It takes the next event when the one before has been
// sent, so a client that reads slowly costs one message and delays nobody; and
// it does so on gRPC's threads and the pump's, so whoever tells of an event
// does not even pay for the sending.
//
// Lifetime: a StreamRegistry owns it from Begin() to OnDone(), as it does a
// ServerStream. Thread-safe.
class WatchStream : public grpc::ServerWriteReactor<v1::WatchJobResponse>,
                    public OpenStream,
                    public WatchPump::Watcher {
 public:
  // `pump` outlives the stream.
  WatchStream(StreamTicket ticket, WatchPump* pump)
      : pump_(*pump), ticket_(std::move(ticket)) {}

  // Puts the stream into `registry`.
  void Begin(StreamRegistry* registry);

  // Sends those events from now on. Called once at most, after Begin(), also
  // when the stream has ended meanwhile.
  void Open(std::shared_ptr<JobEvents> events, JobEvents::Cursor cursor);

  // Ends the stream; the first status wins. Only what is being sent is still
  // sent.
  void Close(const absl::Status& status) override;

  // Sends what is next, or ends, unless a message is on its way.
  void Pump() override;

 private:
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

  // What is to be done outside of the lock; at most one at a time.
  enum class Step { kNone, kWrite, kFinish };
  Step NextStep();

  WatchPump& pump_;
  StreamRegistry* registry_ = nullptr;

  absl::Mutex mu_;  // Comes before that of the events.
  std::shared_ptr<JobEvents> events_ ABSL_GUARDED_BY(mu_);  // Once open.
  uint64_t subscription_ ABSL_GUARDED_BY(mu_) = 0;
  JobEvents::Cursor cursor_ ABSL_GUARDED_BY(mu_);
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  StreamTicket ticket_ ABSL_GUARDED_BY(mu_);  // Until the stream is done.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> ends_with_ ABSL_GUARDED_BY(mu_);

  v1::WatchJobResponse message_;  // Lent to gRPC while `writing_`.
  absl::Status end_;              // Constant once `finished_`.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_
