// The frames that servers send to a worker.

#include <memory>

#include "common/lane/memory_lane.h"
#include "common/rpc/frame_batch.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/worker/exchange_state.h"
#include "services/worker/parameter_client.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

absl::Status Receive(ExchangeState& state, size_t server,
                     absl::string_view bytes, MemoryLane* lane) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return TakeFrames(grpc::ByteBuffer(&slice, 1),
                    [&](const ReceivedFrame& frame) {
                      return TakeReceivedFrame(state, server, frame, lane);
                    });
}

std::string Frame(uint8_t server, const char* text,
                  const std::string& payload = "") {
  v1::Frame frame;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &frame));
  frame.set_payload(payload);
  return static_cast<char>(server) + FuzzText(frame.SerializeAsString());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string pulled =
      Frame(0, "pulled_block { request: 1 block: 0 format: FP32 }",
            std::string(16, 'x')) +
      Frame(1, "pulled_block { request: 1 block: 5 format: BF16 }",
            std::string(6, 'y'));
  return {pulled + Frame(0, "pull_end { request: 1 parked_us: 9 }") +
              Frame(1, "pull_end { request: 1 }") +
              Frame(0, "push_ack { iteration: 3 refused: 5 }") +
              Frame(1, "push_ack { iteration: 3 }") + Frame(0, "set_done {}") +
              Frame(1, "set_done {}"),
          pulled + Frame(0, "pull_end { request: 1 code: 14 message: 'ask' }"),
          Frame(1,
                "pulled_block { request: 1 block: 5 format: FP32 } "
                "lent { position: 64 length: 12 }"),
          Frame(0,
                "push_ack { iteration: 3 } more { set_done {} } more { "
                "pulled_block { request: 1 block: 0 format: FP32 } payload: "
                "'0123456789abcdef' }"),
          // A pull ahead, delivered.
          Frame(129, "pulled_block { request: 2 block: 0 format: FP32 }",
                std::string(16, 'x')) +
              Frame(64, "pull_end { request: 2 }"),
          Frame(0, "hello {}")};
}

void FuzzOne(absl::string_view input) {
  // In memory of their own, so that AddressSanitizer sees their ends.
  std::vector<float> first(4);
  std::vector<float> second(3);
  static const std::unique_ptr<MemoryLane> lane = *MemoryLane::Make(1);
  ExchangeState state;
  CHECK(state.AddBlock(0, {absl::MakeSpan(first), 0}).ok());
  CHECK(state.AddBlock(5, {absl::MakeSpan(second), 1}).ok());
  state.BeginPull();
  state.BeginPush(3);
  state.BeginSet();
  FuzzInput fuzz(input);
  while (!fuzz.empty()) {
    const uint8_t what = fuzz.Byte();
    const uint8_t server = what % 3;
    switch (what / 64) {
      case 1:
        state.DeliverPull([](size_t) {});
        break;
      case 2:
        state.BeginPull(/*whole=*/true, /*ahead=*/true);
        break;
      case 3:
        state.DropPull();
        break;
    }
    // One of the streams has shared memory.
    const absl::Status status =
        Receive(state, server, fuzz.Text(), server == 1 ? lane.get() : nullptr);
    ExpectInvalidArgument(status);
    if (!status.ok()) state.Broken(status);
  }
  const auto pulled = state.AwaitPull(absl::ZeroDuration());
  if (pulled.ok()) CHECK(pulled->bytes > 0);
  const auto pushed = state.AwaitPush(absl::ZeroDuration());
  if (pushed.ok()) CHECK(!state.broken());
  state.AwaitSet(absl::ZeroDuration()).IgnoreError();
}

}  // namespace paceline
