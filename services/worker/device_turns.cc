#include "services/worker/device_turns.h"

#include "absl/time/time.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

bool DeviceTurns::Take(absl::FunctionRef<bool()> over) {
  absl::MutexLock lock(&mu_);
  const int64_t mine = next_++;
  waiting_.insert(mine);
  const auto my_turn = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !taken_ && *waiting_.begin() == mine;
  };
  bool has_it = false;
  while (true) {
    has_it = mu_.AwaitWithTimeout(absl::Condition(&my_turn), kLook);
    if (has_it) break;
    mu_.Unlock();
    const bool gives_up = over();
    mu_.Lock();
    if (gives_up) break;
  }
  waiting_.erase(mine);
  taken_ = taken_ || has_it;
  return has_it;
}

void DeviceTurns::Release() {
  absl::MutexLock lock(&mu_);
  CHECK(taken_);
  taken_ = false;
}

bool DeviceTurn::Begin(absl::FunctionRef<bool()> over) {
  if (turns_ != nullptr && !goes_on_) {
    goes_on_ = turns_->Take(over);
    return goes_on_;
  }
  return true;
}

void DeviceTurn::End() {
  if (goes_on_) turns_->Release();
  goes_on_ = false;
}

}  // namespace paceline
