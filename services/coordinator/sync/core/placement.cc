#include "services/coordinator/sync/core/placement.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "common/check.h"

namespace paceline {

std::vector<BlockPlacement> CutIntoBlocks(
    absl::Span<const TensorShape> tensors) {
  std::vector<BlockPlacement> blocks;
  for (uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const int64_t size = tensors[tensor].size;
    CHECK(size > 0);
    const int64_t parts = (size + kMaxBlockFloats - 1) / kMaxBlockFloats;
    int64_t offset = 0;
    for (int64_t part = 0; part < parts; ++part) {
      BlockPlacement block;
      block.block = static_cast<uint32_t>(blocks.size());
      block.tensor = tensor;
      block.offset = offset;
      block.size = size / parts + (part < size % parts ? 1 : 0);
      offset += block.size;
      blocks.push_back(block);
    }
    CHECK(offset == size);
  }
  return blocks;
}

void PlaceBlocks(int servers, absl::Span<BlockPlacement> blocks) {
  CHECK(servers >= 1);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return blocks[a].size > blocks[b].size;
  });
  std::set<std::pair<int64_t, int>> load;  // Floats, server.
  for (int server = 0; server < servers; ++server) load.emplace(0, server);
  for (const size_t index : order) {
    const auto [floats, server] = *load.begin();
    load.erase(load.begin());
    blocks[index].server = server;
    load.emplace(floats + blocks[index].size, server);
  }
}

}  // namespace paceline
