#ifndef PACELINE_SERVICES_SIMULATOR_FAULTS_H_
#define PACELINE_SERVICES_SIMULATOR_FAULTS_H_

#include <cstdint>
#include <vector>

#include "common/job/paradigm_spec.h"
#include "common/rng.h"
#include "services/simulator/nanos.h"

namespace paceline {

// How long what a whole run consists of takes besides computing and links, and
// what goes wrong (ClusterSpec::whole_run).
struct Faults {
  // What takes time takes up to so much, drawn each time; 0: none.
  Nanos coming = 0;        // Opening files; joining at the beginning.
  Nanos loading = 0;       // A member's data and model.
  Nanos initializing = 0;  // Writing the starting weights.
  Nanos evaluating = 0;    // A snapshot.
  Nanos pushing = 0;       // From one block of a push to the next.
  Nanos commanding = 0;    // The way of a command, and that of its answer.
  Nanos replicating = 0;   // An entry's way to a backup; a tenth of a fill.
  Nanos writing = 0;       // A server's part of a checkpoint; its manifest.
  Nanos messages = 0;      // One between a worker and others, besides latency.
  Nanos held = 0;          // A message that is held up, on top.
  Nanos full = 0;          // The disk of the checkpoints.

  // Chances in a thousand: of each member, server, command or second that it
  // is about.
  int message_held = 0;       // Each message, each command, each answer.
  int member_dies = 0;        // Before each thing that a member does.
  int member_freezes = 0;     // Likewise: for up to three leases it is silent.
  int member_leaves = 0;      // Likewise: politely.
  int member_cannot = 0;      // It says that it failed, or has another model.
  int worker_stuck = 0;       // It computes up to 30 leases longer, not silent.
  int push_short = 0;         // Each push: of a part of its range.
  int push_empty = 0;         // Each push: of no samples.
  int push_discarded = 0;     // Each push: its worker finds it not finite.
  int worker_not_finite = 0;  // Each worker, as it comes: every push of it.
  int block_refused = 0;      // Each push: the servers find that of a block.
  int report_repeated = 0;    // Each report of a push arrives twice.
  int fence_repeated = 0;     // Each answer to a fence.
  int server_lost = 0;        // Each second, one of them.
  // Before each thing that a server does, of a run with backups and while each
  // shard has its own: it dies, and another one comes.
  int server_dies = 0;
  int coordinator_dies = 0;  // Each second of training; another one goes on.
  int server_hangs = 0;      // Each command: nothing is answered any more.
  int snapshot_refused = 0;  // Each snapshot and each evaluation.
  int checkpoint_fails = 0;  // Each file, each manifest.
  int disk_full = 0;         // Each second: for a while, for everybody.
  int pause = 0;             // Each second, as all that people order.
  int resume = 0;
  int update = 0;
  int checkpoint = 0;
  int change = 0;  // A switch to one of `paradigms`, of which there is one.
  int cancel = 0;
  std::vector<ParadigmSpec> paradigms = {};

  // So that each place of a run can be tried: a member dies before the
  // so-many-th thing that members do, a server before the so-many-th that
  // servers do, the coordinator after the so-many-th input of the run. 0: by
  // chance alone. Coordinators die only where servers have no backups.
  int64_t member_dies_at = 0;
  int64_t server_dies_at = 0;
  int64_t coordinator_dies_at = 0;

  // Nothing goes wrong from then on, and everybody who is needed comes.
  Nanos until = kNever;
};

// Draws what Faults leave to chance. What cannot happen draws nothing.
// Thread-compatible.
class FaultDraws {
 public:
  // `faults` outlives it.
  FaultDraws(const Faults* faults, uint64_t seed)
      : faults_(*faults), rng_(seed) {}

  // Whether what has such a chance, in a thousand, happens now.
  bool Happens(int chance, Nanos now) {
    return chance > 0 && now < faults_.until && Chance(chance, 1000);
  }
  // Before each thing that a member does.
  bool MemberDies(Nanos now) {
    return ++done_by_members_ == faults_.member_dies_at ||
           Happens(faults_.member_dies, now);
  }
  // Before each thing that a server does.
  bool ServerDies(Nanos now) {
    return ++done_by_servers_ == faults_.server_dies_at ||
           Happens(faults_.server_dies, now);
  }
  // After each input.
  bool CoordinatorDies() { return ++inputs_ == faults_.coordinator_dies_at; }
  bool Chance(uint64_t numerator, uint64_t denominator) {
    return rng_.Chance(numerator, denominator);
  }
  uint64_t Below(uint64_t bound) { return rng_.Below(bound); }
  // Up to `most`, and not 0 unless that is.
  Nanos Delay(Nanos most) {
    return most == 0 ? 0
                     : static_cast<Nanos>(
                           1 + rng_.Below(static_cast<uint64_t>(most)));
  }
  // The disk of the checkpoints is full from now on, for a while.
  void FillDisk(Nanos now) { full_until_ = now + Delay(faults_.full); }
  // Whether something that is written there now fails.
  bool WriteFails(Nanos now) {
    return Happens(faults_.checkpoint_fails, now) || now < full_until_;
  }
  // By how much a message is late that usually is by up to `most`.
  Nanos Late(Nanos most, Nanos now) {
    const Nanos late = Delay(most);
    return late +
           (Happens(faults_.message_held, now) ? Delay(faults_.held) : 0);
  }

 private:
  const Faults& faults_;
  Rng rng_;
  Nanos full_until_ = 0;
  int64_t done_by_members_ = 0;
  int64_t done_by_servers_ = 0;
  int64_t inputs_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_FAULTS_H_
