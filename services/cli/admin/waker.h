#ifndef PACELINE_SERVICES_CLI_ADMIN_WAKER_H_
#define PACELINE_SERVICES_CLI_ADMIN_WAKER_H_

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "services/cli/interrupt_watch.h"

namespace paceline {

// Where the main thread waits: for work that gRPC's threads do for it, for a
// moment, or for somebody who asks the process to end.
//
// Thread-safe: Wake() and Interrupt(); the rest is the main thread's.
class Waker {
 public:
  // Sees SIGINT, SIGTERM and SIGHUP; see InterruptWatch for what that means.
  // INTERNAL if the system refuses.
  static absl::StatusOr<std::unique_ptr<Waker>> WithSignals();
  // Sees Interrupt() alone.
  static absl::StatusOr<std::unique_ptr<Waker>> WithoutSignals();

  // Lets the present or the next Wait() return.
  void Wake();

  // As if the signal had come.
  void Interrupt(int signal);

  // Until it is woken, interrupted, or `deadline` has passed. May return for no
  // reason; once interrupted it returns at once.
  void Wait(absl::Time deadline);

  // The first signal that asked us to end; 0 for none.
  int signal();

 private:
  Waker(UniqueFd event, std::optional<InterruptWatch> signals)
      : event_(std::move(event)), signals_(std::move(signals)) {}

  static absl::StatusOr<std::unique_ptr<Waker>> Create(
      std::optional<InterruptWatch> signals);

  UniqueFd event_;
  std::optional<InterruptWatch> signals_;
  std::atomic<int> interrupted_{0};
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_WAKER_H_
