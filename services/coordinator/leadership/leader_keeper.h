#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_KEEPER_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_KEEPER_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "services/coordinator/leadership/election.h"
#include "services/coordinator/leadership/leader_lock.h"

namespace paceline {

// Keeps the lead: announces it, renews the record, and writes into it who
// stands by. A thread of its own, because the lock's answers may take seconds.
// Thread-safe.
class LeaderKeeper {
 public:
  struct Options {
    Election* election;  // Leads. The keeper's from now on.
    LeaderLock* lock;    // The same.
    // Who stands by and has everything; empty: nobody.
    std::function<std::string()> standby;
    // Nobody else can lead.
    std::function<void()> alone;
    // Another one may lead from now on: the process must end. Called once.
    std::function<void(const std::string& why)> lost;
    // Of this coordinator, by which clients are to find it.
    std::string name;
  };

  explicit LeaderKeeper(Options options);
  ~LeaderKeeper();
  LeaderKeeper(const LeaderKeeper&) = delete;
  LeaderKeeper& operator=(const LeaderKeeper&) = delete;

  // Somebody says that another one leads: looks at the record.
  void Doubt();
  // Clients that come anew are not to find it any more: it will hand the lead
  // over soon.
  void Withdraw();
  // Hands the lead to the standby, if the record names one; what comes of it is
  // unknown if the lock does not answer. False: it names none.
  bool Release();

 private:
  void Run();
  // False: it does not lead any more.
  bool Turn() ABSL_LOCKS_EXCLUDED(turn_);
  // The same: what needs the lock.
  bool Keep(const std::string& standby, bool doubts) ABSL_LOCKS_EXCLUDED(turn_);
  // Until it succeeds.
  void Announce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);

  const Options options_;
  const Clock& clock_ = Clock::Real();
  std::string told_;  // What ailed the lock last; of the thread.

  absl::Mutex turn_;  // Held while the election and the lock are used.
  bool announced_ ABSL_GUARDED_BY(turn_) = false;
  bool withdrawn_ ABSL_GUARDED_BY(turn_) = false;
  absl::Time next_announcement_ ABSL_GUARDED_BY(turn_) = absl::InfinitePast();
  absl::Mutex mu_;
  bool doubts_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_LEADER_KEEPER_H_
