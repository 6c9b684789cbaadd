#include "services/worker/parameter_client.h"

#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

struct Placed {
  uint32_t tensor = 0;
  int64_t offset = 0;
  int64_t size = 0;
};

// What connecting gives with those blocks, of a model of tensors of 10 and 4.
// REQUIRES: they are refused; there is no server.
absl::Status Refusal(const std::vector<Placed>& blocks) {
  v1::BeginJob begin;
  for (const Placed& run : blocks) {
    v1::Block& block = *begin.add_shards()->add_blocks();
    block.set_id(static_cast<uint32_t>(begin.shards_size()));
    block.set_tensor(run.tensor);
    block.set_offset(run.offset);
    block.set_size(run.size);
  }
  std::vector<float> a(10);
  std::vector<float> b(4);
  const TensorArrays arrays = {{absl::MakeSpan(a), absl::MakeSpan(b)},
                               {BytesOf(a), BytesOf(b)},
                               nullptr};
  return ParameterClient::Connect(begin, arrays, {}).status();
}

// An element that no block has would keep what it happened to be, and one in
// two blocks would be trained twice.
TEST(ParameterClientTest, BlocksMustCoverTheModelExactly) {
  const std::vector<Placed> kPlans[] = {
      {},
      {{0, 0, 10}},
      {{0, 0, 9}, {1, 0, 4}},
      {{0, 0, 5}, {0, 0, 5}, {1, 0, 4}},
      {{0, 0, 6}, {0, 5, 5}, {1, 0, 4}},
      {{0, 0, 10}, {0, 3, 2}, {1, 0, 4}},
      {{0, 0, 4}, {0, 6, 4}, {0, 0, 2}, {1, 0, 4}},
      {{0, 0, 10}, {1, 0, 5}},
      {{0, 0, 10}, {1, -1, 4}},
      {{0, 0, 10}, {1, 0, 4}, {2, 0, 1}},
      {{0, 0, 10}, {1, INT64_MAX, INT64_MAX}}};
  int number = 0;
  for (const std::vector<Placed>& plan : kPlans) {
    EXPECT_TRUE(absl::IsInvalidArgument(Refusal(plan))) << "plan " << number;
    ++number;
  }
}

}  // namespace
}  // namespace paceline
