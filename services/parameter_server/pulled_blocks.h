#ifndef PACELINE_SERVICES_PARAMETER_SERVER_PULLED_BLOCKS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_PULLED_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "services/parameter_server/block_state.h"

namespace paceline {

struct PulledBlock {
  uint32_t id = 0;
  // Never null. Holding it keeps these bytes as they are and delays nobody.
  std::shared_ptr<const BlockState> state;
};

// What a pull or a snapshot gives: references to all hosted blocks.
struct PulledBlocks {
  int64_t closing = 0;  // Applied to all of them; some may be further.
  std::vector<PulledBlock> blocks;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_PULLED_BLOCKS_H_
