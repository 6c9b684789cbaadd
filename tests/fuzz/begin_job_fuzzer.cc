// The coordinator's word on which server has which block of a worker's model.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <set>

#include "services/worker/parameter_client.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr int64_t kSizes[] = {10, 4};

// Nobody is there, which a stream only tells later.
std::shared_ptr<grpc::Channel> DialNobody(const std::string&, ChannelProfile,
                                          absl::Duration) {
  static const auto channel = grpc::CreateChannel(
      "unix:/nonexistent/socket", grpc::InsecureChannelCredentials());
  return channel;
}

// Every element of the model is in one block.
bool CoversExactly(const v1::BeginJob& begin) {
  std::set<std::pair<uint32_t, int64_t>> elements;
  for (const v1::Shard& shard : begin.shards()) {
    for (const v1::Block& block : shard.blocks()) {
      for (int64_t i = 0; i < block.size(); ++i) {
        if (!elements.emplace(block.tensor(), block.offset() + i).second) {
          return false;
        }
      }
    }
  }
  return elements.size() == kSizes[0] + kSizes[1];
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {MessageSeed<v1::BeginJob>(R"(
            shards { address: 'a' blocks { id: 0 tensor: 0 size: 6 }
                                  blocks { id: 2 tensor: 1 size: 4 } }
            shards { address: 'b' blocks { id: 1 tensor: 0 offset: 6 size: 4 } }
            initialize: true)"),
          MessageSeed<v1::BeginJob>(R"(
            shards { blocks { id: 0 tensor: 0 size: 5 } blocks { id: 1 size: 5 }
                     blocks { id: 2 tensor: 1 size: 4 } })"),
          MessageSeed<v1::BeginJob>(R"(shards { blocks { tensor: 7
            offset: -9223372036854775808 size: 9223372036854775807 } })")};
}

void FuzzOne(absl::string_view input) {
  const auto begin = ParseMessage<v1::BeginJob>(input);
  if (!begin.has_value()) return;
  std::vector<float> a(kSizes[0]);
  std::vector<float> b(kSizes[1]);
  const TensorArrays arrays = {{absl::MakeSpan(a), absl::MakeSpan(b)},
                               {BytesOf(a), BytesOf(b)},
                               nullptr};
  const auto client = ParameterClient::Connect(
      *begin, arrays, {.lease = absl::Seconds(1), .dial = DialNobody});
  ExpectInvalidArgument(client.status());
  if (client.ok()) CHECK(CoversExactly(*begin));
}

}  // namespace paceline
