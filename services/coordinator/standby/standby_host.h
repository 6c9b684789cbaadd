#ifndef PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_HOST_H_
#define PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_HOST_H_

#include <cstddef>
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
#include "common/clock.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/standby.pb.h"
#include "services/coordinator/feed/standby_feed.h"

namespace paceline {

// To the standby.
class StandbyPeer : public OutgoingStream<v1::LeaderMessage> {
 public:
  // Messages that wait for it.
  virtual size_t waiting() const = 0;
};

// The leader's side of a standby: one at a time follows the feed. Once one has
// everything, nothing leaves this coordinator that it has not. When its stream
// breaks, nothing leaves at all until GoAlone(): it may lead by then.
//
// Thread-safe. A thread of its own fills and feeds.
class StandbyHost {
 public:
  struct Options {
    std::string name;  // Of this coordinator.
    uint64_t term = 0;
    std::string version;
    // One that is asked and acknowledges nothing for that long is given up.
    absl::Duration patience;
    StandbyFeed* feed;  // Outlives it, and so does the clock.
    const Clock* clock = &Clock::Real();
    // Another coordinator leads, in that later term: this one is to end at
    // once.
    std::function<void(uint64_t term)> replaced;
  };

  // As people and leadership see it.
  struct Standby {
    std::string name;
    std::string address;
    std::string version;
    bool complete = false;
    size_t entries_behind = 0;
  };

  explicit StandbyHost(Options options);
  ~StandbyHost();
  StandbyHost(const StandbyHost&) = delete;
  StandbyHost& operator=(const StandbyHost&) = delete;

  // The one that follows; nothing: none does.
  std::optional<Standby> Present() const;
  // Nobody else can lead now: what waited for the standby that is gone goes
  // out, and another one may come.
  void GoAlone();

  // Of a stream. ALREADY_EXISTS: another one follows. UNAVAILABLE: GoAlone() is
  // still to come. FAILED_PRECONDITION: the standby knows of a later term, so
  // that this one leads no more.
  absl::Status OnHello(const v1::StandbyHello& hello,
                       std::shared_ptr<StandbyPeer> stream);
  absl::Status OnHeld(const StandbyPeer* stream, uint64_t entries);
  void OnLeads(uint64_t term);
  void OnOver(const StandbyPeer* stream);
  // It has room for more.
  void OnSent() { Wake(); }

 private:
  void Run();
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  // Nobody is waited for any more, and another one may come.
  void EndLog() ABSL_LOCKS_EXCLUDED(mu_);
  // The stream has that number from now on. False: it has gone meanwhile.
  bool Begun(const std::shared_ptr<StandbyPeer>& stream, uint64_t following);
  // Sends what there is, as far as there is room.
  void Pump(StandbyPeer& stream, uint64_t following);
  absl::Status SendEntry(StandbyPeer& stream,
                         const StandbyFeed::Log::Outgoing& outgoing);
  void Ask() ABSL_LOCKS_EXCLUDED(mu_);
  bool IsSilent() const;

  const Options options_;

  mutable absl::Mutex mu_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<StandbyPeer> stream_ ABSL_GUARDED_BY(mu_);
  v1::StandbyHello hello_ ABSL_GUARDED_BY(mu_);
  uint64_t following_ ABSL_GUARDED_BY(mu_) = 0;  // 0: it is not filled yet.
  bool complete_ ABSL_GUARDED_BY(mu_) = false;
  bool suspended_ ABSL_GUARDED_BY(mu_) = false;  // Until EndLog().
  bool ending_ ABSL_GUARDED_BY(mu_) = false;     // EndLog() is under way.
  // The last time that it has answered, or was asked something new.
  absl::Time asked_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_HOST_H_
