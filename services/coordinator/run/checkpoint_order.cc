#include "services/coordinator/run/checkpoint_order.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/checkpoint/manifest.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace paceline {

bool CheckpointOrder::Begin(const Order& order) {
  absl::MutexLock lock(&mu_);
  if (order_.has_value()) return false;
  order_ = order;
  order_->files.resize(servers_->size());
  written_.assign(servers_->size(), false);
  failure_ = absl::OkStatus();
  v1::ServerCommand write;
  write.mutable_write_checkpoint()->set_snapshot(order.point.snapshot);
  write.mutable_write_checkpoint()->set_directory(order.directory);
  // Held over the broadcast: an answer must find its order.
  sequence_ = servers_->Broadcast(
      std::move(write), [&](int server, v1::ServerCommand& command) {
        command.mutable_write_checkpoint()->set_file(
            ShardFileName(static_cast<size_t>(server), servers_->size()));
      });
  return true;
}

void CheckpointOrder::CommandDone(uint64_t sequence, int64_t version) {
  absl::MutexLock lock(&mu_);
  if (!order_.has_value() || sequence != sequence_) return;
  // The last of the servers says how far the others may have been by then.
  order_->version_at_completion =
      std::max(order_->version_at_completion, version);
}

void CheckpointOrder::Written(int server,
                              const v1::CheckpointWritten& written) {
  absl::MutexLock lock(&mu_);
  if (!order_.has_value() || written.snapshot() != order_->point.snapshot) {
    return;
  }
  written_[server] = true;
  order_->files[server] = written;
  if (written.code() != 0 && failure_.ok()) {
    failure_ = Annotate(FromCode(written.code(), written.message()),
                        servers_->NameOf(server));
  }
}

bool CheckpointOrder::idle() const {
  absl::MutexLock lock(&mu_);
  return !order_.has_value();
}

bool CheckpointOrder::OverLocked() const {
  // Also when one has failed: until then the others write into the folder.
  return std::all_of(written_.begin(), written_.end(),
                     [](bool written) { return written; });
}

bool CheckpointOrder::AwaitWritten(absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto over = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !order_.has_value() || OverLocked();
  };
  return mu_.AwaitWithTimeout(absl::Condition(&over), timeout);
}

bool CheckpointOrder::BegunBefore(absl::Time time) const {
  absl::MutexLock lock(&mu_);
  return order_.has_value() && order_->begun < time;
}

std::optional<CheckpointOrder::Order> CheckpointOrder::GiveUp() {
  absl::MutexLock lock(&mu_);
  return std::exchange(order_, std::nullopt);
}

std::string CheckpointOrder::StillWriting() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> writing;
  for (size_t i = 0; i < written_.size(); ++i) {
    if (!written_[i]) writing.push_back(servers_->NameOf(static_cast<int>(i)));
  }
  return absl::StrJoin(writing, ", ");
}

std::optional<CheckpointOrder::Order> CheckpointOrder::TakeWritten(
    absl::Status& failure) {
  absl::MutexLock lock(&mu_);
  if (!order_.has_value() || !OverLocked()) return std::nullopt;
  failure = failure_;
  return std::exchange(order_, std::nullopt);
}

}  // namespace paceline
