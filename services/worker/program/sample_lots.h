#ifndef PACELINE_SERVICES_WORKER_PROGRAM_SAMPLE_LOTS_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_SAMPLE_LOTS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/sample_range.h"

namespace paceline {

// Which samples a program knows of: what was reserved for it and is in no step
// yet, and which samples of its data set the positions of an epoch mean. Pure.
// Thread-compatible.
class SampleLots {
 public:
  // `seed` is the job's, of EpochPermutation; an epoch has `samples`.
  SampleLots(uint64_t seed, uint32_t samples)
      : seed_(seed), samples_(samples) {}

  // What the program is told before a step.
  struct Notice {
    bool drop = false;  // All that it knows is withdrawn, first.
    std::vector<SampleRange> lots;
  };

  // A step on `step` follows, and `reserved` is what has been reserved behind
  // it, and behind what was reserved before. INVALID_ARGUMENT if any of these
  // is no part of an epoch.
  absl::StatusOr<Notice> Step(const SampleRange& step,
                              absl::Span<const SampleRange> reserved);

  // The same of a step that the program has been told of.
  absl::StatusOr<Notice> Reserve(absl::Span<const SampleRange> reserved);

  // All that is reserved is withdrawn; whether there was anything.
  bool Drop();

  // The samples at these positions. Valid up to the next call.
  // REQUIRES: Step() has accepted the range.
  absl::Span<const uint32_t> SamplesAt(const SampleRange& range);

 private:
  struct Permutation {
    std::optional<uint32_t> epoch;
    uint32_t parts = 0;
    std::vector<uint32_t> order;
  };

  absl::Status Check(const SampleRange& range) const;
  void Append(const SampleRange& range);

  const uint64_t seed_;
  const uint32_t samples_;
  // Told and in no step yet, in order; neighbours are one.
  std::deque<SampleRange> known_;
  // The two newest epochs: ranges of one are still dealt while the next has
  // begun.
  std::array<Permutation, 2> permutations_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_SAMPLE_LOTS_H_
