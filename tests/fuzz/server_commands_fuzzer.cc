// The coordinator's commands, carried out by a parameter server.

#include <prometheus/registry.h>
#include <spdlog/spdlog.h>

#include "services/parameter_server/command_runner.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

std::string Command(const char* text) {
  return FuzzText(MessageSeed<v1::ServerCommand>(text));
}

constexpr char kHost[] = R"(sequence: 1 run: 5 host {
  job { optimizer: 'sgd:momentum=0.9' batch_size: 8 round_strength: 'linear' }
  tensors { name: 'a' shape: 4 size: 4 } blocks { size: 4 } })";

constexpr char kHostNothing[] = R"(sequence: 1 run: 6 host {
  job { optimizer: 'sgd' batch_size: 8 round_strength: 'linear' } })";

constexpr char kHostBackup[] = R"(sequence: 1 run: 6 shard: 1 host {
  job { optimizer: 'sgd' batch_size: 8 round_strength: 'linear' }
  epoch: 2 backup: true })";

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string rest =
      Command("sequence: 2 run: 6 snapshot { snapshot: 1 }") +
      Command("sequence: 3 run: 6 close { closing: 1 rounds: 1 rate: 0.1 }") +
      Command("sequence: 4 run: 6 fence { incarnation: 9 }") +
      Command("sequence: 5 run: 6 release_snapshot { snapshot: 1 }") +
      Command("sequence: 6 run: 6 snapshot { snapshot: 2 }") +
      Command(
          "sequence: 7 run: 6 write_checkpoint { snapshot: 2 "
          "directory: '/nowhere' file: 'server-0-of-1.safetensors' }");
  return {Command(kHost) + Command("run: 5 unhost { reason: 'x' }"),
          Command(kHostNothing) + rest + Command("run: 6 unhost {}"),
          Command("sequence: 1 run: 7 host { restore_from: '/etc' job { "
                  "optimizer: 'sgd' batch_size: 1 round_strength: 'sqrt' } }") +
              Command("sequence: 2 run: 7 snapshot { snapshot: -1 }"),
          Command(kHostNothing) + Command(kHostBackup) +
              Command("run: 6 replicate { epoch: 2 hold: true }") +
              Command("run: 6 replicate { epoch: 3 address: 'nowhere:1' }") +
              rest + Command("run: 6 shard: 1 promote { epoch: 3 }") +
              Command("run: 6 unhost { all_shards: true }")};
}

void FuzzOne(absl::string_view input) {
  static const bool quiet = (spdlog::set_level(spdlog::level::off), true);
  static const ScratchFolder folder;
  static prometheus::Registry registry;
  static ServerMetrics metrics(registry);
  CHECK(quiet);
  Shard shard({.max_jobs = 3, .max_state_bytes = 1 << 22});
  CommandRunner runner(&shard, &metrics, {folder.path()});
  runner.Begin([](const v1::ServerMessage& message) {
    CHECK(message.has_done() || message.has_failed() ||
          message.has_checkpoint_written() || message.has_folders_seen() ||
          message.has_backup() || message.has_promoted());
    if (message.has_failed()) CHECK(message.failed().code() != 0);
  });
  FuzzInput fuzz(input);
  while (!fuzz.empty()) {
    const auto command = ParseMessage<v1::ServerCommand>(fuzz.Text());
    if (command.has_value()) runner.Run(*command);
  }
  CHECK(shard.state_bytes() <= 1 << 22);
  runner.DropAll("the end");
  CHECK(shard.state_bytes() == 0);
}

}  // namespace paceline
