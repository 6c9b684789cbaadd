#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_

#include <grpcpp/support/server_callback.h>
#include <prometheus/gauge.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/stream_registry.h"
#include "common/rpc/write_queue.h"
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
  // `pump` outlives the stream. So does `open`, the gauge that counts it from
  // Begin() to OnDone().
  WatchStream(StreamTicket ticket, WatchPump* pump, prometheus::Gauge* open)
      : pump_(*pump), open_(*open), ticket_(std::move(ticket)) {}

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
  using Queue = WriteQueue<v1::WatchJobResponse>;

  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

  // Takes what is next from the events, unless a message is on its way.
  Queue::Step Read();
  void Perform(const Queue::Step& step);

  WatchPump& pump_;
  prometheus::Gauge& open_;
  StreamRegistry* registry_ = nullptr;
  Queue queue_{1};

  absl::Mutex mu_;  // Comes before those of the queue and of the events.
  std::shared_ptr<JobEvents> events_ ABSL_GUARDED_BY(mu_);  // Once open.
  uint64_t subscription_ ABSL_GUARDED_BY(mu_) = 0;
  JobEvents::Cursor cursor_ ABSL_GUARDED_BY(mu_);
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  StreamTicket ticket_ ABSL_GUARDED_BY(mu_);  // Until the stream is done.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_STREAM_H_
