#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ROUND_LEDGER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ROUND_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/types/span.h"
#include "common/round_limit.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The ledger knows what may lie in the accumulators at the servers: which
// rounds have plans open, how many pushes each has gathered, and which hold
// gradients that no closing has drained. A policy closes the rounds whose
// pushes it sees. The ledger tells the core about those that nobody else would
// close, because all that they hold came from workers that were lost.
//
// A round is in use from its first plan until nothing of it can lie at a server
// any more: no plan is open, no fence of a lost plan's holder is unanswered,
// and every server has performed the closing that drained it. So no server ever
// has more accumulators than there are rounds in use.
//
// Every operation takes O(log rounds in use), but for those that list rounds.
// Thread-compatible.
class RoundLedger {
 public:
  // `acknowledging_servers` is how many servers acknowledge the closings that
  // they have performed; with 0 a closing counts as performed as soon as it is
  // issued.
  explicit RoundLedger(int acknowledging_servers = 0)
      : performed_(static_cast<size_t>(acknowledging_servers), 0) {}

  // No plan has named this round or a greater one.
  RoundId next() const { return next_; }

  // How many live pushes the round has gathered since it was last drained.
  int64_t PushesIn(RoundId round) const;

  // The samples that were counted towards these since they were last drained.
  int64_t SamplesIn(absl::Span<const RoundId> rounds) const;

  // How many of its plans are open: their pushes are under way.
  int64_t PlansOf(RoundId round) const;

  // Whether the round's pushes are all that lies at the servers and is not
  // drained: no other round has any, and lost workers have left nothing in it.
  bool HoldsAll(RoundId round) const;

  // Whether the round could have a plan issued now, within kMaxOpenRounds.
  bool HasRoomFor(RoundId round) const {
    return rounds_.size() < kMaxOpenRounds || rounds_.contains(round);
  }

  // How many rounds a policy may begin that could do without them. Two rounds
  // are kept back, so that a paradigm that cannot go on without a round of its
  // own finds one after a switch. The number is negative while more are in use.
  int64_t free() const {
    return static_cast<int64_t>(kMostAtWill) -
           static_cast<int64_t>(rounds_.size());
  }
  static constexpr size_t kMostAtWill = kMaxOpenRounds - 2;
  size_t in_use() const { return rounds_.size(); }
  bool InUse(RoundId round) const { return rounds_.contains(round); }

  // Whether servers hold something for the round, as far as is known: pushes
  // that were counted, or what lost workers left or may have left. Not what is
  // under way.
  bool MayHold(RoundId round) const;

  // Whether a closing that is issued now would end the use of the round.
  bool EndsWithClosing(RoundId round) const;

  // A policy has named the round, so that it is no longer free to choose.
  void Name(RoundId round);

  // A plan for the round was issued.
  void Issued(RoundId round) { ++rounds_[round].plans; }

  // The iteration of such a plan has ended without a push.
  void Ended(RoundId round);

  // It has ended with a push, by which `counted` was counted.
  void Pushed(RoundId round, absl::Span<const SampleRange> counted);

  // The holder of a plan was lost. What it has pushed is known later.
  void Lost(RoundId round);

  // The servers have answered the fence that went out when `fenced_at` was the
  // last closing; `taken` if they had taken anything for the round. True if
  // that still lies there; if it was a whole push, `counted` is what it counts.
  bool Answered(RoundId round, Closing fenced_at, bool taken,
                absl::Span<const SampleRange> counted);

  // The closing was issued and drains the round, all earlier fences' leftovers
  // included.
  void Drained(RoundId round, Closing closing);

  // The server has performed all closings up to this one.
  void Performed(int server, Closing closing);

  // The rounds that hold nothing but what lost workers left, while no plan is
  // open whose push would have them closed. Each is listed once.
  std::vector<RoundId> TakeOrphans();

  // All rounds that hold gradients, by id.
  std::vector<RoundId> Undrained() const;

  // The samples that were counted towards rounds that no closing has drained.
  std::vector<SampleRange> Gathered() const;

  // Another policy takes over: the rounds named so far belong to an earlier
  // term, and nobody but the core closes them.
  void BeginTerm() { first_ = next_; }
  bool OfEarlierTerm(RoundId round) const { return round < first_; }
  // None of those is in use any more.
  bool EarlierTermsAreOver() const {
    return rounds_.empty() || !OfEarlierTerm(rounds_.begin()->first);
  }

 private:
  struct Use {
    int64_t plans = 0;       // Open plans of members.
    int64_t unanswered = 0;  // Lost plans whose fences are not answered.
    int64_t pushes = 0;      // Live pushes since the last draining.
    bool leftovers = false;  // Lost workers have left something.
    Closing closed = 0;      // The last closing that drained it.
    std::vector<SampleRange> counted;
    int64_t samples = 0;  // In these.

    bool undrained() const { return pushes > 0 || leftovers; }
    bool in_use() const { return plans > 0 || unanswered > 0 || undrained(); }
    bool orphan() const { return leftovers && pushes == 0 && plans == 0; }
  };
  using Rounds = absl::btree_map<RoundId, Use>;

  Rounds::iterator Find(RoundId round);
  static void Count(Rounds::iterator it, absl::Span<const SampleRange> counted);
  // Forgets the round if it is no longer in use, and notes it if it is an
  // orphan.
  void Settle(Rounds::iterator it);
  // Every server has performed all closings up to this one.
  bool IsPerformed(Closing closing) const;

  Rounds rounds_;
  absl::btree_set<RoundId> orphans_;
  std::vector<Closing> performed_;  // Indexed by server.
  RoundId next_{1};
  RoundId first_{1};  // The first round of the present term.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ROUND_LEDGER_H_
