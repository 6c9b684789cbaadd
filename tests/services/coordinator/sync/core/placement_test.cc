#include "services/coordinator/sync/core/placement.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/rng.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

std::vector<int64_t> Loads(absl::Span<const BlockPlacement> blocks,
                           int servers) {
  std::vector<int64_t> loads(servers);
  for (const BlockPlacement& block : blocks) loads[block.server] += block.size;
  return loads;
}

TEST(CutIntoBlocksTest, KeepsASmallTensorWhole) {
  const std::vector<BlockPlacement> blocks =
      CutIntoBlocks({{"w", 7840}, {"b", 10}});
  EXPECT_EQ(blocks, (std::vector<BlockPlacement>{{0, 0, 0, 7840, 0},
                                                 {1, 1, 0, 10, 0}}));
}

TEST(CutIntoBlocksTest, CutsAtOneMebibyteIntoNearlyEqualParts) {
  EXPECT_EQ(CutIntoBlocks({{"w", kMaxBlockFloats}}).size(), 1u);
  const std::vector<BlockPlacement> two =
      CutIntoBlocks({{"w", kMaxBlockFloats + 1}});
  EXPECT_EQ(two, (std::vector<BlockPlacement>{{0, 0, 0, 131073, 0},
                                              {1, 0, 131073, 131072, 0}}));
}

TEST(CutIntoBlocksTest, CoversEveryFloatOnce) {
  Rng rng(1);
  std::vector<TensorShape> tensors;
  for (int i = 0; i < 50; ++i) {
    tensors.push_back(
        {"t", 1 + static_cast<int64_t>(rng.Below(5 * kMaxBlockFloats))});
  }
  std::vector<int64_t> covered(tensors.size());
  for (const BlockPlacement& block : CutIntoBlocks(tensors)) {
    EXPECT_EQ(block.offset, covered[block.tensor]);
    EXPECT_GT(block.size, 0);
    EXPECT_LE(block.size, kMaxBlockFloats);
    covered[block.tensor] += block.size;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(covered[i], tensors[i].size);
  }
}

TEST(PlaceBlocksTest, GivesTheLargestFirstToTheLeastLoaded) {
  std::vector<BlockPlacement> blocks =
      CutIntoBlocks({{"a", 3}, {"b", 5}, {"c", 4}, {"d", 4}});
  PlaceBlocks(2, absl::MakeSpan(blocks));
  // 5 -> 0, 4 -> 1, 4 -> 1, 3 -> 0.
  EXPECT_EQ(blocks[0].server, 0);
  EXPECT_EQ(blocks[1].server, 0);
  EXPECT_EQ(blocks[2].server, 1);
  EXPECT_EQ(blocks[3].server, 1);
}

TEST(PlaceBlocksTest, BalancesBytes) {
  Rng rng(2);
  std::vector<TensorShape> tensors;
  for (int i = 0; i < 200; ++i) {
    tensors.push_back({"t", 1 + static_cast<int64_t>(rng.Below(9999))});
  }
  std::vector<BlockPlacement> blocks = CutIntoBlocks(tensors);
  for (int servers = 1; servers <= 7; ++servers) {
    PlaceBlocks(servers, absl::MakeSpan(blocks));
    const std::vector<int64_t> loads = Loads(blocks, servers);
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    // The last block placed, a small one, bounds the difference.
    EXPECT_LE(*most - *least, 500);
    EXPECT_GT(*least, 0);
  }
}

TEST(PlaceBlocksTest, LeavesServersEmptyWhenThereAreFewBlocks) {
  std::vector<BlockPlacement> blocks = CutIntoBlocks({{"a", 3}});
  PlaceBlocks(3, absl::MakeSpan(blocks));
  EXPECT_EQ(Loads(blocks, 3), (std::vector<int64_t>{3, 0, 0}));
}

}  // namespace
}  // namespace paceline
