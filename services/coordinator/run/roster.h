#ifndef PACELINE_SERVICES_COORDINATOR_RUN_ROSTER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_ROSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rng.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/peer.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

using WorkerPeer = Peer<v1::WorkerCommand>;

// Where a member stands.
enum class MemberState {
  kLoading,  // Registered; reads its data and builds its model.
  kReady,    // Waits for the job to begin.
  kWorking,  // Was told to begin.
  kGone,
};

// A worker or evaluator, as it registered. A value: a copy of the roster's.
struct Member {
  WorkerId id{0};
  std::string name;
  uint64_t incarnation = 0;
  bool evaluator = false;
  std::string pool;
  std::string gpu_model;  // Of one without, its device.
  MemberState state = MemberState::kLoading;
  bool initialized = false;  // It has written the starting weights.
  absl::Time last_heard;
  v1::WorkerReady ready;  // From kReady on, until kGone.
};

inline bool IsTrainer(const Member& member) { return !member.evaluator; }

// Who has registered with the coordinator as worker or evaluator: names,
// incarnations, how far they are, and where their commands go. It decides
// nothing about synchronization; the engine does.
//
// Thread-safe; its lock is a leaf: no method calls out with it held but the
// peers' own queues.
class Roster {
 public:
  // Incarnations are drawn from a generator seeded with `entropy`, which must
  // differ from one coordinator's life to the next.
  explicit Roster(uint64_t entropy) : incarnations_(entropy) {}

  // INVALID_ARGUMENT for a name that is empty, longer than 63 characters or
  // has others than letters, digits, '-', '_' and '.'.
  absl::StatusOr<Member> Register(const v1::WorkerHello& hello, WorkerPeer peer,
                                  absl::Time now);

  // FAILED_PRECONDITION if the member is not loading.
  absl::Status Ready(WorkerId worker, const v1::WorkerReady& ready);
  void Initialized(WorkerId worker);
  void Working(WorkerId worker);
  void Heard(WorkerId worker, absl::Time now);

  // False if it was gone already. Its name and incarnation are remembered, a
  // few words: what it did last is still told of. A worker with a bad network
  // comes and goes thousands of times.
  bool Gone(WorkerId worker);

  // Nothing happens if the member is gone.
  void Send(WorkerId worker, v1::WorkerCommand command);
  void Close(WorkerId worker, const absl::Status& status);
  void SendToAll(const v1::WorkerCommand& command);

  std::optional<Member> Find(WorkerId worker) const;
  uint64_t IncarnationOf(WorkerId worker) const;
  std::string NameOf(WorkerId worker) const;

  // Those who are not gone, sorted by id.
  std::vector<Member> Present() const;

  // Waits until `enough` holds for Present(); false if `timeout` ends first.
  bool Await(const std::function<bool(const std::vector<Member>&)>& enough,
             absl::Duration timeout) const;

 private:
  struct Entry {
    Member member;
    WorkerPeer peer;
  };

  std::vector<Member> PresentLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  Rng incarnations_ ABSL_GUARDED_BY(mu_);
  uint32_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<WorkerId, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_ROSTER_H_
