#ifndef PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_STREAM_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_STREAM_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rpc/client_stream.h"
#include "protos/paceline/v1/replication.pb.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/server_metrics.h"

namespace paceline {

// A shard's primary's stream to its backup: everything that the shard has, and
// all that its log gets from then on. It lives for one backup; one that breaks,
// or whose backup is silent, is over.
//
// Thread-safe. The destructor waits for its thread and for gRPC.
class ReplicaStream {
 public:
  // A channel to another server that notices a dead peer within `liveness`.
  using Dial = std::function<std::shared_ptr<grpc::Channel>(
      const std::string& address, absl::Duration liveness)>;

  struct Options {
    std::string address;  // The backup's, "host:port".
    v1::ReplicaHello hello;
    // Half of it without a connection, or without an acknowledgement that is
    // waited for, is the end; a second at least.
    absl::Duration lease;
    bool hold = false;  // ReplicaLog::Begin()
    Dial dial;
    // The backup has everything: OK. Or it is over, with what; once, last.
    // ABORTED: the backup is the primary now. From a thread of the stream's.
    std::function<void(const absl::Status&)> report;
  };

  // Begins to dial; `sequence` is JobShard::Replicate()'s. Until the stream has
  // ended or a state was reported, the log waits for it.
  // REQUIRES: no command of the coordinator at the same time.
  ReplicaStream(Options options, std::shared_ptr<JobShard> job,
                uint64_t sequence, ServerMetrics* metrics);
  ~ReplicaStream();
  ReplicaStream(const ReplicaStream&) = delete;
  ReplicaStream& operator=(const ReplicaStream&) = delete;

 private:
  using Stream = ClientStream<grpc::ByteBuffer, v1::ReplicaAck>;

  void Run();
  // Until it is over; why.
  absl::Status Follow(const std::shared_ptr<grpc::Channel>& channel);
  absl::Status AwaitConnection(grpc::Channel& channel);
  // Until it is over, or the backup is silent.
  absl::Status Feed(Stream& stream);
  absl::Status Acknowledged(const v1::ReplicaAck& ack);
  // Hands a few entries of the log to the stream, if it has room for them.
  void Pump(Stream& stream) ABSL_LOCKS_EXCLUDED(pump_mu_);
  // What the log has next; of a shard that still goes over, also its blocks.
  std::optional<ReplicaLog::Outgoing> Next()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mu_);
  void Wake();

  // The log may call it just after the stream has ended.
  struct Waker {
    absl::Mutex mu;
    ReplicaStream* stream ABSL_GUARDED_BY(mu);  // Null: it has ended.
  };

  const Options options_;
  const std::shared_ptr<JobShard> job_;
  ServerMetrics* const metrics_;
  const std::shared_ptr<Waker> waker_;
  uint64_t following_ = 0;
  std::atomic<size_t> messages_ahead_ = 0;

  absl::Mutex pump_mu_;
  bool filling_ ABSL_GUARDED_BY(pump_mu_) = true;
  uint32_t filled_blocks_ ABSL_GUARDED_BY(pump_mu_) = 0;
  int since_block_ ABSL_GUARDED_BY(pump_mu_) = 0;  // Entries.

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;  // There is something to take.
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
  absl::Time progress_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_STREAM_H_
