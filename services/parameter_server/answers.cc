#include "services/parameter_server/answers.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/log/log.h"
#include "common/status.h"

namespace paceline {

void Answers::GoTo(Send send) {
  absl::MutexLock lock(&mu_);
  send_ = std::move(send);
  if (send_ == nullptr) return;
  for (const auto& [id, message] : of_copies_) send_(message);
}

void Answers::Forget(const ShardId& id) {
  absl::MutexLock lock(&mu_);
  of_copies_.erase(id);
}

void Answers::ForgetRun(uint64_t run) {
  absl::MutexLock lock(&mu_);
  std::erase_if(of_copies_,
                [run](const auto& of) { return of.first.run == run; });
}

void Answers::Tell(const ShardId& id, v1::ServerMessage message) {
  message.set_run(id.run);
  message.set_shard(id.shard);
  absl::MutexLock lock(&mu_);
  if (message.has_backup() || message.has_promoted()) {
    of_copies_[id] = message;
  }
  if (send_ != nullptr) send_(std::move(message));
}

void Answers::TellBackup(const ShardId& id, uint64_t epoch,
                         const absl::Status& status) {
  if (!status.ok()) {
    LogWarning(
        "a copy of a shard has failed",
        {{"run", id.run}, {"shard", id.shard}, {"reason", Summary(status)}});
  }
  v1::ServerMessage message;
  v1::BackupReport& report = *message.mutable_backup();
  report.set_epoch(epoch);
  report.set_code(static_cast<int>(status.code()));
  report.set_message(std::string(status.message()));
  Tell(id, std::move(message));
}

}  // namespace paceline
