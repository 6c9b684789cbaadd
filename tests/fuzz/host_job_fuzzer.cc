// The coordinator's word on what a parameter server hosts.

#include "services/parameter_server/from_wire.h"
#include "services/parameter_server/shard.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {MessageSeed<v1::HostJob>(R"(
            job { optimizer: 'adam' batch_size: 32 round_strength: 'linear' }
            tensors { name: 'a' shape: [2, 3] size: 6 rate_factor: 0.1
                      weight_decay: 0.05 momentum: 0.9 }
            tensors { name: 's' shape: 4 size: 4 kind: STATISTIC }
            blocks { id: 0 tensor: 0 offset: 0 size: 4 }
            blocks { id: 1 tensor: 0 offset: 4 size: 2 }
            blocks { id: 2 tensor: 1 offset: 0 size: 4 kind: STATISTIC })"),
          MessageSeed<v1::HostJob>(R"(
            job { optimizer: 'adamw:weight_decay=0.1,no_decay=norms_and_biases'
                  batch_size: 32 round_strength: 'linear' }
            tensors { name: 'b' shape: 2 size: 2 kind: AVERAGED }
            tensors { name: 'f' shape: 4 size: 4 kind: FROZEN }
            blocks { id: 0 tensor: 0 offset: 0 size: 2 kind: AVERAGED }
            blocks { id: 1 tensor: 1 offset: 0 size: 4 kind: FROZEN })"),
          MessageSeed<v1::HostJob>(R"(
            job { optimizer: 'sgd' batch_size: 1 round_strength: 'sqrt' }
            tensors { name: 'a' size: 9223372036854775807 }
            blocks { size: 262144 offset: 9223372036854513663 })"),
          MessageSeed<v1::HostJob>(R"(tensors { size: -1 }
            blocks { offset: -9223372036854775808 size: 9223372036854775807 })")};
}

void FuzzOne(absl::string_view input) {
  const auto host = ParseMessage<v1::HostJob>(input);
  if (!host.has_value()) return;
  auto config = ToShardConfig(*host);
  ExpectInvalidArgument(config.status());
  if (!config.ok()) return;
  ServerLimits limits;
  limits.max_state_bytes = config->limits.max_state_bytes = 1 << 20;
  config->limits.max_blocks = 64;
  const absl::Status sound = ValidateShardConfig(*config);
  ExpectCode(sound, {absl::StatusCode::kInvalidArgument,
                     absl::StatusCode::kResourceExhausted});
  Shard shard(limits);
  const uint64_t bytes = sound.ok() ? StateBytes(*config) : 0;
  const absl::Status hosted = shard.Configure(1, *std::move(config));
  CHECK(hosted.ok() == sound.ok());
  CHECK(shard.state_bytes() == bytes);
}

}  // namespace paceline
