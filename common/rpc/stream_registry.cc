#include "common/rpc/stream_registry.h"

#include <utility>
#include <vector>

namespace paceline {

void StreamRegistry::Add(std::shared_ptr<OpenStream> stream) {
  absl::Status refuse_with;
  bool refuse = false;
  {
    absl::MutexLock lock(&mu_);
    open_.emplace(stream.get(), stream);
    refuse = closed_;
    refuse_with = closed_with_;
  }
  if (refuse) stream->Close(refuse_with);
}

void StreamRegistry::Remove(OpenStream* stream) {
  std::shared_ptr<OpenStream> last;  // Dies after the lock is released.
  absl::MutexLock lock(&mu_);
  const auto it = open_.find(stream);
  if (it == open_.end()) return;
  last = std::move(it->second);
  open_.erase(it);
}

void StreamRegistry::CloseAll(const absl::Status& status) {
  std::vector<std::shared_ptr<OpenStream>> streams;
  {
    absl::MutexLock lock(&mu_);
    if (!closed_) closed_with_ = status;
    closed_ = true;
    for (const auto& [key, stream] : open_) streams.push_back(stream);
  }
  // Outside the lock: closing may end a stream, which removes it here.
  for (const auto& stream : streams) stream->Close(status);
}

bool StreamRegistry::AwaitEmpty(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return open_.empty();
  };
  return mu_.AwaitWithTimeout(absl::Condition(&empty), timeout);
}

}  // namespace paceline
