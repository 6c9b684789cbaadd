#include "services/cli/admin/interruption.h"

#include <signal.h>

#include <initializer_list>

namespace paceline {

std::shared_ptr<Interruption> Interruption::BySignals() {
  ::signal(SIGPIPE, SIG_IGN);
  auto interruption = std::make_shared<Interruption>();
  interruption->watch_.emplace(
      KeepSignals({SIGINT, SIGTERM, SIGHUP}),
      [self = interruption.get()](int signal) { self->Interrupt(signal); });
  return interruption;
}

void Interruption::Interrupt(int signal) {
  absl::MutexLock lock(&mu_);
  if (signal_ == 0) signal_ = signal;
  if (context_ != nullptr) context_->TryCancel();
}

int Interruption::signal() const {
  absl::MutexLock lock(&mu_);
  return signal_;
}

void Interruption::WaitUntil(absl::Time until) const {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithDeadline(
      absl::Condition(
          +[](const int* signal) { return *signal != 0; }, &signal_),
      until);
}

Interruption::Cancels::Cancels(Interruption* interruption,
                               grpc::ClientContext* context)
    : interruption_(*interruption) {
  absl::MutexLock lock(&interruption_.mu_);
  interruption_.context_ = context;
  if (interruption_.signal_ != 0) context->TryCancel();
}

Interruption::Cancels::~Cancels() {
  absl::MutexLock lock(&interruption_.mu_);
  interruption_.context_ = nullptr;
}

}  // namespace paceline
