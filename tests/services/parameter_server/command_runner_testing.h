#ifndef PACELINE_TESTS_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_TESTING_H_
#define PACELINE_TESTS_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_TESTING_H_

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/mailbox.h"
#include "services/parameter_server/command_runner.h"

namespace paceline {

// A shard, the runner of its commands, and what it answers.
struct RunningShard {
  explicit RunningShard(const std::string& checkpoint_root = "")
      : metrics(registry),
        runner(&shard, &metrics,
               checkpoint_root.empty()
                   ? std::vector<std::string>()
                   : std::vector<std::string>{checkpoint_root}) {
    runner.Begin(
        [this](v1::ServerMessage message) { answers.Put(std::move(message)); });
  }

  // The next answer; an empty one, and a failure, if there is none.
  v1::ServerMessage Next() {
    auto message = answers.Take(absl::Seconds(30));
    EXPECT_TRUE(message.ok()) << message.status();
    return message.ok() ? *message : v1::ServerMessage();
  }
  // Whether nothing is left to be read.
  bool Quiet() {
    return absl::IsDeadlineExceeded(
        answers.Take(absl::ZeroDuration()).status());
  }
  v1::ServerMessage Run(const v1::ServerCommand& command) {
    runner.Run(command);
    return Next();
  }

  prometheus::Registry registry;
  ServerMetrics metrics;
  Shard shard;
  Mailbox<v1::ServerMessage> answers;
  CommandRunner runner;  // Last: its thread answers.
};

inline v1::ServerCommand Command(uint64_t run, uint64_t sequence) {
  v1::ServerCommand command;
  command.set_run(run);
  command.set_sequence(sequence);
  return command;
}

// The next closing, of round 7 once it has one gradient, at rate 1.
inline v1::ServerCommand AnnounceCommand(uint64_t run, int64_t closing) {
  v1::ServerCommand command = Command(run, 0);
  command.mutable_announce()->set_closing(closing);
  command.mutable_announce()->set_round(7);
  command.mutable_announce()->set_gradients(1);
  command.mutable_announce()->set_rate(1);
  return command;
}

// A tensor "w" of two blocks of 5, with the ids 10 and 11.
inline v1::ServerCommand HostCommand(uint64_t run,
                                     const std::string& optimizer = "sgd",
                                     const std::string& restore_from = "") {
  v1::ServerCommand command = Command(run, 1);
  v1::HostJob& host = *command.mutable_host();
  host.mutable_job()->set_optimizer(optimizer);
  host.mutable_job()->set_round_strength("linear");
  host.mutable_job()->set_batch_size(4);
  host.set_restore_from(restore_from);
  v1::TensorSpec& tensor = *host.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(10);
  tensor.set_size(10);
  for (uint32_t i = 0; i < 2; ++i) {
    v1::Block& block = *host.add_blocks();
    block.set_id(10 + i);
    block.set_tensor(0);
    block.set_offset(5 * i);
    block.set_size(5);
  }
  return command;
}

inline v1::ServerCommand CloseCommand(uint64_t run, uint64_t sequence,
                                      int64_t closing) {
  v1::ServerCommand command = Command(run, sequence);
  command.mutable_close()->set_closing(closing);
  command.mutable_close()->set_rate(1);
  return command;
}

inline v1::ServerCommand SnapshotCommand(uint64_t run, uint64_t sequence,
                                         int64_t snapshot) {
  v1::ServerCommand command = Command(run, sequence);
  command.mutable_snapshot()->set_snapshot(snapshot);
  return command;
}

inline v1::ServerCommand WriteCommand(
    uint64_t run, uint64_t sequence, int64_t snapshot,
    const std::string& directory,
    const std::string& file = "server-0-of-1.safetensors") {
  v1::ServerCommand command = Command(run, sequence);
  command.mutable_write_checkpoint()->set_snapshot(snapshot);
  command.mutable_write_checkpoint()->set_directory(directory);
  command.mutable_write_checkpoint()->set_file(file);
  return command;
}

inline v1::ServerCommand UnhostCommand(uint64_t run,
                                       const std::string& reason) {
  v1::ServerCommand command = Command(run, 0);
  command.mutable_unhost()->set_reason(reason);
  return command;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_TESTING_H_
