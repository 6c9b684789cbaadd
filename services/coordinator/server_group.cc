#include "services/coordinator/server_group.h"

#include <algorithm>
#include <utility>

namespace paceline {

absl::StatusOr<int> ServerGroup::Register(const v1::ServerHello& hello,
                                          ServerPeer peer, absl::Time now) {
  if (hello.address().empty()) {
    return absl::InvalidArgumentError("a server's hello names its address");
  }
  absl::MutexLock lock(&mu_);
  if (servers_.size() == wanted_) {
    return absl::FailedPreconditionError(
        "the job has all of its parameter servers");
  }
  servers_.push_back({hello, std::move(peer), 0, now});
  return static_cast<int>(servers_.size()) - 1;
}

uint64_t ServerGroup::Broadcast(
    v1::ServerCommand command,
    const std::function<void(int, v1::ServerCommand&)>& each) {
  absl::MutexLock lock(&mu_);
  command.set_sequence(++sequence_);
  for (size_t i = 0; i < servers_.size(); ++i) {
    v1::ServerCommand own = command;
    if (each) each(static_cast<int>(i), own);
    servers_[i].peer.send(std::move(own));
  }
  return sequence_;
}

void ServerGroup::Send(int server, v1::ServerCommand command) {
  absl::ReaderMutexLock lock(&mu_);
  servers_[server].peer.send(std::move(command));
}

void ServerGroup::SendToAll(const v1::ServerCommand& command) {
  absl::ReaderMutexLock lock(&mu_);
  for (const Server& server : servers_) server.peer.send(command);
}

void ServerGroup::Done(int server, uint64_t sequence) {
  absl::MutexLock lock(&mu_);
  servers_[server].done = std::max(servers_[server].done, sequence);
}

void ServerGroup::Heard(int server, absl::Time now) {
  absl::MutexLock lock(&mu_);
  servers_[server].last_heard = now;
}

bool ServerGroup::AwaitAll(absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto all = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return servers_.size() == wanted_;
  };
  return mu_.AwaitWithTimeout(absl::Condition(&all), timeout);
}

bool ServerGroup::AwaitDone(uint64_t sequence, absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto done = [this, sequence]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return AllDoneLocked(sequence);
  };
  return mu_.AwaitWithTimeout(absl::Condition(&done), timeout);
}

uint64_t ServerGroup::last_sequence() const {
  absl::ReaderMutexLock lock(&mu_);
  return sequence_;
}

bool ServerGroup::AllDone(uint64_t sequence) const {
  absl::ReaderMutexLock lock(&mu_);
  return AllDoneLocked(sequence);
}

bool ServerGroup::AllDoneLocked(uint64_t sequence) const {
  return std::all_of(
      servers_.begin(), servers_.end(),
      [sequence](const Server& server) { return server.done >= sequence; });
}

size_t ServerGroup::registered() const {
  absl::ReaderMutexLock lock(&mu_);
  return servers_.size();
}

std::string ServerGroup::AddressOf(int server) const {
  absl::ReaderMutexLock lock(&mu_);
  return servers_[server].hello.address();
}

std::string ServerGroup::NameOf(int server) const {
  absl::ReaderMutexLock lock(&mu_);
  return servers_[server].hello.name();
}

std::string ServerGroup::SilentSince(absl::Time since) const {
  absl::ReaderMutexLock lock(&mu_);
  for (const Server& server : servers_) {
    if (server.last_heard < since) return server.hello.name();
  }
  return "";
}

}  // namespace paceline
