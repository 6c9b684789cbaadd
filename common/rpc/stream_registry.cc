#include "common/rpc/stream_registry.h"

#include <utility>
#include <vector>

namespace paceline {

void StreamRegistry::Add(std::shared_ptr<OpenStream> stream) {
  std::optional<absl::Status> closed;
  {
    absl::MutexLock lock(&mu_);
    open_.emplace(stream.get(), stream);
    closed = closed_;
  }
  if (closed.has_value()) stream->Close(*closed);
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
    if (!closed_.has_value()) closed_ = status;
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
