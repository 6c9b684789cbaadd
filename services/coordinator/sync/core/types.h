#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_TYPES_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_TYPES_H_

#include <cstdint>
#include <optional>

#include "common/sample_range.h"

namespace paceline {

// These are the words of the sync core: plain values without addresses or
// messages.

// A worker within one incarnation, numbered in the order of registration and
// never reused: a worker that rejoins is a new WorkerId. Ties are broken by it.
enum class WorkerId : uint32_t {};

// An accumulator at the parameter servers; never reused within a job.
enum class RoundId : uint64_t {};

// A worker's own push sequence number within an incarnation, from 1.
using Iteration = int64_t;

// The number of updates that the coordinator has counted: one for each
// immediate push when its PushDone is handled, and one for each closing.
using Version = int64_t;

// The number of a CloseRounds of the job, from 1. It is the only thing that a
// pull can be asked to wait for. 0 names the starting weights.
using Closing = int64_t;

// The number of iterations that a worker has pushed, as the gate counts them: a
// worker that joins starts at the smallest clock among live workers.
using WorkerClock = int64_t;

constexpr uint32_t ToNumber(WorkerId worker) {
  return static_cast<uint32_t>(worker);
}
constexpr uint64_t ToNumber(RoundId round) {
  return static_cast<uint64_t>(round);
}

// How fast a worker is, as measured from grants to pushes and smoothed.
struct Pace {
  double seconds_each = 1;  // For a sample; greater than 0.
  uint32_t samples = 1;     // Of an iteration, as large as its next one.

  double busy_s() const { return seconds_each * samples; }
};

// How a worker wants its samples.
struct SampleWishes {
  // So many are to be reserved for it beyond those of its grant, as far as
  // there are enough for all; 0: none.
  uint32_t lookahead = 0;
  // It computes in micro-batches of so many, and wants whole ones in its
  // grants; 0: any number will do. More than the job's micro-batch counts as
  // that.
  uint32_t micro_batch = 0;
  // It can go on with more samples after it has asked for a plan.
  bool extends = false;
};

// A plan says what becomes of the gradient of one iteration. Once issued it is
// never revoked.
struct PushPlan {
  enum class Kind : uint8_t {
    kImmediate,  // Each block applies it as it arrives.
    kRound,      // Each block adds it to the accumulator `round`.
    kAsk,        // Not decided yet: the worker asks when its gradient is ready.
    kDiscard,    // Nothing is pushed.
  };

  static PushPlan Immediate(double weight = 1) {
    return {Kind::kImmediate, RoundId{0}, weight};
  }
  static PushPlan Round(RoundId round, double weight = 1) {
    return {Kind::kRound, round, weight};
  }
  static PushPlan Ask() { return {Kind::kAsk}; }
  static PushPlan Discard() { return {Kind::kDiscard}; }

  Kind kind = Kind::kImmediate;
  RoundId round{0};   // The round of a kRound.
  double weight = 1;  // u in (0, 1]: the gradient counts for so much.
  // lambda of delay compensation (DC-ASGD): the servers add lambda * g * g *
  // (weights now - weights pulled) to each element g; 0: they do not.
  double compensation = 0;
  // m of its adaptive variant (DC-ASGD-a): the servers divide lambda by the
  // root of a running mean of g * g; nothing: they do not.
  std::optional<double> compensation_memory = std::nullopt;
  // Of a round before which another one is closed: its own closing comes after
  // this version, so that its gradients will be staler than they are now. Only
  // the coordinator knows it.
  Version applied_after = 0;

  friend bool operator==(const PushPlan&, const PushPlan&) = default;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_TYPES_H_
