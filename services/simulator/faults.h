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
  Nanos writing = 0;       // A server's part of a checkpoint; its manifest.

  // Chances in a thousand: of each member, server, command or second that it
  // is about.
  int member_dies = 0;       // Before each thing that a member does.
  int member_freezes = 0;    // Likewise: for up to three leases it is silent.
  int member_leaves = 0;     // Likewise: politely.
  int member_cannot = 0;     // It says that it failed, or has another model.
  int push_short = 0;        // Each push: of a part of its range.
  int server_lost = 0;       // Each second, one of them.
  int server_hangs = 0;      // Each command: nothing is answered any more.
  int snapshot_refused = 0;  // Each snapshot and each evaluation.
  int checkpoint_fails = 0;  // Each file, each manifest.
  int order = 0;             // Each second: a pause, a switch, an update, ...
  int cancel = 0;            // Each second.
  // Among which orders switch; empty: they do not.
  std::vector<ParadigmSpec> paradigms = {};
  // Nothing goes wrong from then on, and everybody who is needed comes.
  Nanos until = kNever;
};

// Draws what Faults leave to chance. What cannot happen draws nothing.
// Thread-compatible.
class FaultDraws {
 public:
  // `faults` outlives it.
  FaultDraws(const Faults* faults, uint64_t seed)
      : until_(faults->until), rng_(seed) {}

  // Whether what has such a chance, in a thousand, happens now.
  bool Happens(int chance, Nanos now) {
    return chance > 0 && now < until_ && Chance(chance, 1000);
  }
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

 private:
  const Nanos until_;
  Rng rng_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_FAULTS_H_
