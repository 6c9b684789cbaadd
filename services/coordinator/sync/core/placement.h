#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PLACEMENT_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// A block holds at most 1 MiB of fp32: small enough to stay in a cache and to
// travel as one message.
inline constexpr int64_t kMaxBlockFloats = 262144;

// A named tensor of a job's parameters.
struct TensorShape {
  std::string name;
  int64_t size = 0;  // Floats, at least 1.

  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// A contiguous run of one tensor: the unit of storage, locking, transfer and
// placement.
struct BlockPlacement {
  uint32_t block = 0;   // Counts from 0, in the order of tensors and offsets.
  uint32_t tensor = 0;  // Index into the tensors.
  int64_t offset = 0;   // Floats from the tensor's beginning.
  int64_t size = 0;     // Floats.
  int server = 0;       // Set by PlaceBlocks.

  friend bool operator==(const BlockPlacement&,
                         const BlockPlacement&) = default;
};

// Cuts each tensor into as few blocks as hold it, whose sizes differ by at most
// one float. The blocks are not placed yet.
std::vector<BlockPlacement> CutIntoBlocks(
    absl::Span<const TensorShape> tensors);

// Spreads the blocks over servers 0 .. `servers` - 1 by bytes: the largest
// first, each to the server that holds least (Graham, SIAM J. Appl. Math. 17,
// 1969: never above 4/3 of the best possible maximum). Ties go to the lower
// block and the lower server, so that everybody computes the same placement.
// REQUIRES: `servers` >= 1.
void PlaceBlocks(int servers, absl::Span<BlockPlacement> blocks);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PLACEMENT_H_
