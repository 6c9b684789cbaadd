#include "common/security/stream_limiter.h"

#include <utility>

namespace paceline {

StreamTicket::StreamTicket(std::shared_ptr<internal::OpenStreams> open,
                           absl::string_view identity)
    : open_(std::move(open)), identity_(identity) {}

StreamTicket& StreamTicket::operator=(StreamTicket&& other) noexcept {
  if (this == &other) return *this;
  Return();
  open_ = std::move(other.open_);
  identity_ = std::move(other.identity_);
  return *this;
}

void StreamTicket::Return() {
  if (open_ == nullptr) return;
  {
    absl::MutexLock lock(&open_->mu);
    const auto it = open_->by_identity.find(identity_);
    if (--it->second == 0) open_->by_identity.erase(it);
  }
  open_.reset();
}

StreamLimiter::StreamLimiter(size_t per_identity)
    : per_identity_(per_identity),
      open_(std::make_shared<internal::OpenStreams>()) {}

std::optional<StreamTicket> StreamLimiter::Open(absl::string_view identity) {
  {
    absl::MutexLock lock(&open_->mu);
    const auto it = open_->by_identity.find(identity);
    if (it == open_->by_identity.end()) {
      open_->by_identity.emplace(identity, 1);
    } else if (per_identity_ > 0 && it->second >= per_identity_) {
      return std::nullopt;
    } else {
      ++it->second;
    }
  }
  return StreamTicket(open_, identity);
}

size_t StreamLimiter::open(absl::string_view identity) const {
  absl::MutexLock lock(&open_->mu);
  const auto it = open_->by_identity.find(identity);
  return it == open_->by_identity.end() ? 0 : it->second;
}

}  // namespace paceline
