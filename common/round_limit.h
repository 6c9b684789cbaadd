#ifndef PACELINE_COMMON_ROUND_LIMIT_H_
#define PACELINE_COMMON_ROUND_LIMIT_H_

#include <cstddef>

namespace paceline {

// How many rounds of one job may have accumulators at the parameter servers at
// once. Each takes as much memory as the weights. The coordinator never has
// more in use, so that a server that refuses a further one refuses a bug.
inline constexpr size_t kMaxOpenRounds = 16;

}  // namespace paceline

#endif  // PACELINE_COMMON_ROUND_LIMIT_H_
