#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPING_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPING_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// A division of workers, sorted by pace, into neighbouring groups, and what is
// predicted of it.
// A group's period T is the busy time of its slowest member.
struct CgpGrouping {
  std::vector<size_t> sizes;  // The groups' sizes, the fastest group first.
  double speed = 0;           // S = sum |g| / T_g, mini-batches a second.
  // D = sum |g|/P * sum over the others |h|/P * T_g/T_h: mini-batches of others
  // that a pull misses, in units of one full batch of all. 0 for one group.
  double missed = 0;
};

// Predicts what groups of these `sizes` would do.
// REQUIRES: as for GroupByPace; `sizes` are positive and add up to the workers.
CgpGrouping EvaluateGrouping(absl::Span<const double> busy_s,
                             absl::Span<const size_t> sizes);

// CGP's grouping (algorithms.md 3.4, our reading of the "cooperate worker
// grouping problem": accuracy subject to speed): the least D with
// S >= beta * S of all on their own. Of several divisions that one wins which
// has the greatest S, then the fewest groups, then the smaller groups first. Up
// to `kExactWorkers` workers all divisions into neighbouring groups are tried.
// Above that, neighbours are joined as long as that lowers D, the pair with the
// smallest loss of S for it first; then every boundary between two groups is
// moved by one worker once, if that lowers D. O(P log P) for P workers, as a
// rule.
//
// There are `most_groups` at most. If so few cannot be as fast as `beta` asks,
// neighbours are joined whose joining costs the least S.
//
// `busy_s` are the workers' busy times in seconds, ascending and positive.
// REQUIRES: there is a worker; 0 <= beta <= 1; most_groups >= 1.
CgpGrouping GroupByPace(absl::Span<const double> busy_s, double beta,
                        size_t most_groups);

inline constexpr size_t kExactWorkers = 16;

// Divides any number of workers in the second of these ways.
CgpGrouping GroupGreedily(absl::Span<const double> busy_s, double beta,
                          size_t most_groups);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPING_H_
