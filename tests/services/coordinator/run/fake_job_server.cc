#include "tests/services/coordinator/run/fake_job_server.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/shard_file.h"
#include "common/safetensors/durable_file.h"
#include "common/status.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/run/fake_worker.h"

namespace paceline {

FakeJobServer::FakeJobServer(uint64_t member, const std::string& name)
    : member_(member), name_(name) {}

ServerLink FakeJobServer::Link() {
  return {member_, name_, absl::StrCat(name_, ":7000"), stream_};
}

void FakeJobServer::Serve(JobRun* job) {
  job_ = job;
  thread_ = std::thread([this] { Run(); });
}

void FakeJobServer::Stop() {
  stream_->commands.Close(absl::OkStatus());
  if (thread_.joinable()) thread_.join();
}

absl::Status FakeJobServer::Say(const v1::ServerMessage& message) {
  return job_->OnServerMessage(member_, message);
}

void FakeJobServer::FailCheckpoints(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  fail_ = why;
}

void FakeJobServer::RefuseSnapshots(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  refuse_ = why;
}

std::vector<v1::ServerCommand> FakeJobServer::Commands() {
  absl::MutexLock lock(&mu_);
  return commands_;
}

v1::ServerCommand FakeJobServer::Await(v1::ServerCommand::KindCase kind) {
  const auto is_wanted = [kind](const v1::ServerCommand& command) {
    return command.kind_case() == kind;
  };
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return std::any_of(commands_.begin(), commands_.end(), is_wanted);
  };
  absl::MutexLock lock(&mu_);
  if (!mu_.AwaitWithTimeout(absl::Condition(&came), kLong)) {
    ADD_FAILURE() << "no command of kind " << kind;
    return {};
  }
  return *std::find_if(commands_.begin(), commands_.end(), is_wanted);
}

void FakeJobServer::Run() {
  while (true) {
    const auto command = stream_->commands.Take(absl::Minutes(5));
    if (!command.ok()) return;
    {
      absl::MutexLock lock(&mu_);
      commands_.push_back(*command);
      if (command->has_host()) host_ = command->host();
    }
    if (command->sequence() != 0) Answer(*command);
    if (command->has_write_checkpoint()) Write(*command);
  }
}

void FakeJobServer::Answer(const v1::ServerCommand& command) {
  v1::ServerMessage message;
  message.set_run(command.run());
  message.mutable_done()->set_sequence(command.sequence());
  if (command.has_fence()) {
    message.mutable_done()->mutable_fence()->set_blocks(1);
  } else if (command.has_snapshot()) {
    absl::MutexLock lock(&mu_);
    message.mutable_done()->set_code(static_cast<int>(refuse_.code()));
    message.mutable_done()->set_message(std::string(refuse_.message()));
  }
  EXPECT_TRUE(Say(message).ok());
}

void FakeJobServer::Write(const v1::ServerCommand& command) {
  const v1::WriteCheckpoint& write = command.write_checkpoint();
  v1::ServerMessage message;
  message.set_run(command.run());
  v1::CheckpointWritten& written = *message.mutable_checkpoint_written();
  written.set_snapshot(write.snapshot());
  written.set_file(write.file());
  const absl::Status status = WriteFile(write, written);
  written.set_code(static_cast<int>(status.code()));
  written.set_message(std::string(status.message()));
  EXPECT_TRUE(Say(message).ok());
}

absl::Status FakeJobServer::WriteFile(const v1::WriteCheckpoint& write,
                                      v1::CheckpointWritten& written) {
  v1::HostJob host;
  {
    absl::MutexLock lock(&mu_);
    PACELINE_RETURN_IF_ERROR(fail_);
    host = host_;
  }
  std::vector<std::vector<float>> weights;
  std::vector<ShardBlock> blocks;
  for (const v1::Block& block : host.blocks()) {
    std::vector<float>& own = weights.emplace_back(block.size());
    std::iota(own.begin(), own.end(), static_cast<float>(block.offset()));
    blocks.push_back({.tensor = host.tensors(block.tensor()).name(),
                      .offset = static_cast<uint64_t>(block.offset()),
                      .size = static_cast<uint64_t>(block.size()),
                      .steps = 1,
                      .weights = own.data(),
                      .slots = {}});
  }
  PACELINE_RETURN_IF_ERROR(MakeFolders(write.directory()));
  PACELINE_ASSIGN_OR_RETURN(
      const WrittenFile file,
      WriteShardFile(absl::StrCat(write.directory(), "/", write.file()), blocks,
                     {}, [] { return false; }));
  written.set_bytes(file.bytes);
  written.set_sha256(file.sha256);
  return absl::OkStatus();
}

}  // namespace paceline
