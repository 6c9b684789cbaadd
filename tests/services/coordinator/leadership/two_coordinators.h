#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_LEADERSHIP_TWO_COORDINATORS_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_LEADERSHIP_TWO_COORDINATORS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/leadership/election.h"

namespace paceline {

// Two coordinators and the record that they agree on, in virtual time. What a
// coordinator promises is a number here: it is written down first, goes to the
// standby, and leaves as StandbyHost would let it.
//
// Anything may happen in between: processes die and are started again, stop for
// a while, lose each other or the lock; a write to the lock may come late, or
// be made without its answer coming back.
class TwoCoordinators {
 public:
  explicit TwoCoordinators(uint64_t seed) : rng_(seed) {}

  // So many things happen, one after the other. False: something that was
  // promised is not known to whoever leads; `trouble` says what.
  bool Run(int steps);
  // Nothing fails any more, until one leads and the other one stands by with
  // everything. False: that did not come about within a minute.
  bool Heal();

  const std::string& trouble() const { return trouble_; }
  uint64_t leaders() const { return leaders_; }  // That there have been.
  uint64_t promised() const { return promised_.size(); }

 private:
  enum class Role { kDown, kStandingBy, kLeading };
  // What the leader's StandbyHost knows.
  enum class Hosts { kNobody, kFilling, kComplete, kSuspended };
  struct Write {
    LeaderRecord record;
    std::string version;
    std::optional<absl::StatusOr<std::string>> made;  // Once it is.
    bool claims = false;
    std::string standby;  // Who stood by when the leader began.
  };
  struct Coordinator {
    std::string name;
    Election::Own own;      // With what follows: its disk.
    std::set<int> written;  // Its store.
    std::optional<Election> election;
    Role role = Role::kDown;
    absl::Time frozen_until = absl::InfinitePast();
    std::optional<Write> write;  // That it waits for.
    Hosts hosts = Hosts::kNobody;
    bool leads_next = false;     // It takes nothing more as a standby.
    std::deque<int> unpromised;  // Until the standby holds them.
  };

  bool OneThing();
  void Turn(Coordinator& who);
  void LookForTheLead(Coordinator& who);
  void Keep(Coordinator& who);
  void LandOne(std::vector<Write>& late);
  absl::StatusOr<std::string> Make(const Write& write);
  void Answer(Coordinator& who);
  void Promise(Coordinator& who);
  void LetOut(Coordinator& who, int number);
  void LetAllOut(Coordinator& who);
  void Follow();  // The next step of the stream between the two.
  void BreakStream();
  void Start(Coordinator& who);
  void Kill(Coordinator& who);
  void Stop(Coordinator& who);  // It hands the lead over, if it has it.
  bool Runs(const Coordinator& who) const;
  Coordinator* Leader();  // The one with the stream, if any.
  Coordinator& Other(const Coordinator& who);
  LeaderLock::Seen Read() const;
  void CheckStore();  // Of whoever leads.

  Rng rng_;
  std::array<Coordinator, 2> all_ = {Coordinator{.name = "c0"},
                                     Coordinator{.name = "c1"}};
  absl::Time now_ = absl::UnixEpoch();
  std::optional<LeaderRecord> record_;
  int64_t version_ = 0;
  bool lock_answers_ = true;
  std::vector<Write> late_;                 // Nobody waits for them any more.
  const Coordinator* connected_ = nullptr;  // To its standby: the leader.
  std::set<int> promised_;
  int next_ = 0;
  // Who has claimed the latest term so far.
  const Coordinator* latest_ = nullptr;
  uint64_t latest_term_ = 0;
  uint64_t leaders_ = 0;
  bool calm_ = false;
  std::string trouble_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_LEADERSHIP_TWO_COORDINATORS_H_
