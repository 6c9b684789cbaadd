#include "tests/services/coordinator/control/fleet_server.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {

namespace {

v1::ServerHello HelloOf(const std::string& name, uint64_t max_bytes) {
  v1::ServerHello hello;
  hello.set_name(name);
  hello.set_max_bytes(max_bytes);
  return hello;
}

}  // namespace

FleetServer::FleetServer(Fleet* fleet, const std::string& name,
                         uint64_t max_bytes)
    : FleetServer(fleet, HelloOf(name, max_bytes)) {}

FleetServer::FleetServer(Fleet* fleet, v1::ServerHello hello) : fleet_(fleet) {
  hello.set_address(absl::StrCat(hello.name(), ":7000"));
  const auto member = fleet_->OnServerConnected(hello, stream_);
  EXPECT_TRUE(member.ok()) << member.status();
  member_ = member.value_or(0);
  thread_ = std::thread([this] { Run(); });
}

void FleetServer::Stop() {
  stream_->commands.Close(absl::OkStatus());
  if (thread_.joinable()) thread_.join();
}

void FleetServer::HoldCheckpoints() {
  absl::MutexLock lock(&mu_);
  hold_ = true;
}

void FleetServer::WriteHeld() {
  std::vector<v1::ServerCommand> held;
  {
    absl::MutexLock lock(&mu_);
    hold_ = false;
    held = std::exchange(held_, {});
  }
  for (const v1::ServerCommand& command : held) Write(command);
}

void FleetServer::AwaitWritten() {
  absl::MutexLock lock(&mu_);
  EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&wrote_), kPatience));
}

void FleetServer::FailCheckpoints(const absl::Status& why,
                                  const std::string& folder) {
  absl::MutexLock lock(&mu_);
  fail_ = why;
  fail_below_ = folder;
}

v1::HostJob FleetServer::AwaitHost(size_t commands) {
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return hosts_.size() >= commands;
  };
  absl::MutexLock lock(&mu_);
  if (!mu_.AwaitWithTimeout(absl::Condition(&came), kPatience)) {
    ADD_FAILURE() << "only " << hosts_.size() << " jobs came";
    return {};
  }
  return hosts_.back();
}

void FleetServer::AwaitRuleBytes(uint64_t bytes) {
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return rule_bytes_ == bytes;
  };
  absl::MutexLock lock(&mu_);
  EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&came), kPatience));
}

void FleetServer::AwaitUnhost() {
  const auto all = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return unhosted_ == hosts_.size();
  };
  absl::MutexLock lock(&mu_);
  EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&all), kPatience));
}

void FleetServer::Leave() {
  v1::ServerMessage message;
  message.mutable_leaving()->set_process(true);
  Say(message);
}

void FleetServer::Run() {
  while (true) {
    const auto command = stream_->commands.Take(absl::InfiniteDuration());
    if (!command.ok()) return;
    Obey(*command);
  }
}

void FleetServer::Obey(const v1::ServerCommand& command) {
  bool write = command.has_write_checkpoint();
  {
    absl::MutexLock lock(&mu_);
    if (command.has_host()) hosts_.push_back(command.host());
    if (command.has_rule_bytes()) rule_bytes_ = command.rule_bytes();
    if (command.has_unhost()) ++unhosted_;
    if (write && hold_) {
      held_.push_back(command);
      write = false;
    }
  }
  if (command.sequence() != 0) {
    v1::ServerMessage done;
    done.set_run(command.run());
    done.mutable_done()->set_sequence(command.sequence());
    if (command.has_fence()) done.mutable_done()->mutable_fence();
    Say(done);
  }
  if (write) Write(command);
}

void FleetServer::Write(const v1::ServerCommand& command) {
  constexpr char kContent[] = "weights";
  const v1::WriteCheckpoint& write = command.write_checkpoint();
  std::filesystem::create_directories(write.directory());
  std::ofstream(absl::StrCat(write.directory(), "/", write.file())) << kContent;
  v1::ServerMessage message;
  message.set_run(command.run());
  v1::CheckpointWritten& written = *message.mutable_checkpoint_written();
  written.set_snapshot(write.snapshot());
  written.set_file(write.file());
  written.set_bytes(sizeof(kContent) - 1);
  written.set_sha256(std::string(64, '0'));
  {
    absl::MutexLock lock(&mu_);
    if (absl::StartsWith(write.directory(), fail_below_)) {
      written.set_code(static_cast<int>(fail_.code()));
      written.set_message(std::string(fail_.message()));
    }
  }
  Say(message);
  absl::MutexLock lock(&mu_);
  wrote_ = true;
}

void FleetServer::Say(const v1::ServerMessage& message) {
  const absl::Status status = fleet_->OnServerMessage(member_, message);
  // After Break() nobody knows it.
  EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
}

}  // namespace paceline
