#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_DRAWN_WISHES_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_DRAWN_WISHES_H_

#include <cstdint>

#include "common/rng.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// What a worker may wish for in a job with such batches; often nothing.
inline SampleWishes DrawWishes(Rng& rng, uint32_t batch_size) {
  SampleWishes wishes;
  if (rng.Chance(1, 2)) {
    wishes.lookahead =
        static_cast<uint32_t>(1 + rng.Below(uint64_t{4} * batch_size));
  }
  if (rng.Chance(1, 4)) {
    wishes.micro_batch = static_cast<uint32_t>(1 + rng.Below(batch_size));
  }
  wishes.extends = !rng.Chance(1, 3);
  return wishes;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_DRAWN_WISHES_H_
