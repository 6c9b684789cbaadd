#ifndef PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_FOLLOWER_H_
#define PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_FOLLOWER_H_

#include <grpcpp/channel.h>

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
#include "common/mailbox.h"
#include "common/rpc/client_stream.h"
#include "protos/paceline/v1/standby.pb.h"
#include "services/coordinator/standby/standby_store.h"

namespace paceline {

// Stands by: dials the leader, again and again, and writes down what that
// writes. Thread-safe.
class StandbyFollower {
 public:
  struct Options {
    v1::StandbyHello hello;
    // Where the leader is; empty: nobody knows, and it is asked again soon.
    std::function<std::string()> leader;
    // A new channel that notices a dead peer soon, for each attempt.
    std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>
        connect;
    StandbyStore* store;  // Outlives it; of its thread.
  };

  // As people and leadership see it.
  struct View {
    std::string leader;   // Its name; empty: none was heard.
    uint64_t term = 0;    // The leader's.
    std::string version;  // The leader's.
    bool connected = false;
    // It has everything that the leader has promised to anybody, be it that the
    // stream is over.
    bool complete = false;
    std::string trouble;  // Why it does not follow, for people.
  };

  explicit StandbyFollower(Options options);
  ~StandbyFollower();
  StandbyFollower(const StandbyFollower&) = delete;
  StandbyFollower& operator=(const StandbyFollower&) = delete;

  View Get() const;

  // Takes nothing more. With a term it leads from now on, and says so to the
  // leader, if that still hears. What was acknowledged is written down.
  void End(uint64_t leads = 0);

 private:
  using Stream = ClientStream<v1::StandbyMessage, v1::LeaderMessage>;
  using Inbox = Mailbox<v1::LeaderMessage>;

  void Run();
  // One stream, from its hello to its end.
  absl::Status Follow(const std::string& address);
  absl::Status TakeAll(Inbox& inbox, Stream& stream);
  absl::Status Take(const v1::LeaderMessage& message);
  absl::Status Welcomed(const v1::LeaderWelcome& welcome);
  void SayFarewell(Inbox& inbox, Stream& stream);
  bool ending() const;
  bool Pause(absl::Duration time);  // False: it is to end.

  const Options options_;
  uint64_t entries_ = 0;  // Of the stream; of the thread alone.

  mutable absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t leads_ ABSL_GUARDED_BY(mu_) = 0;
  View view_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_FOLLOWER_H_
