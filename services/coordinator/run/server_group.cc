#include "services/coordinator/run/server_group.h"

#include <algorithm>
#include <utility>

namespace paceline {

ServerGroup::ServerGroup(uint64_t run, std::vector<ServerLink> servers,
                         const Clock* clock)
    : run_(run),
      links_(std::move(servers)),
      clock_(clock),
      done_(links_.size()),
      since_(links_.size(), clock->Now()) {}

uint64_t ServerGroup::Broadcast(
    v1::ServerCommand command,
    const std::function<void(int, v1::ServerCommand&)>& each) {
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  command.set_run(run_);
  for (size_t i = 0; i < links_.size(); ++i) {
    if (done_[i] == sequence_) since_[i] = now;
  }
  command.set_sequence(++sequence_);
  for (size_t i = 0; i < links_.size(); ++i) {
    v1::ServerCommand own = command;
    if (each) each(static_cast<int>(i), own);
    links_[i].send(std::move(own));
  }
  return sequence_;
}

void ServerGroup::SendToAll(v1::ServerCommand command) {
  command.set_run(run_);
  for (const ServerLink& link : links_) link.send(command);
}

void ServerGroup::Done(int server, uint64_t sequence) {
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  if (sequence <= done_[server]) return;
  done_[server] = sequence;
  since_[server] = now;
}

std::optional<int> ServerGroup::Stuck(absl::Duration limit) const {
  const absl::Time now = clock_->Now();
  absl::ReaderMutexLock lock(&mu_);
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i] < sequence_ && now - since_[i] > limit) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
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
  return std::all_of(done_.begin(), done_.end(),
                     [sequence](uint64_t done) { return done >= sequence; });
}

std::optional<int> ServerGroup::IndexOf(uint64_t member) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].member == member) return static_cast<int>(i);
  }
  return std::nullopt;
}

const std::string& ServerGroup::AddressOf(int server) const {
  return links_[server].address;
}

const std::string& ServerGroup::NameOf(int server) const {
  return links_[server].name;
}

}  // namespace paceline
