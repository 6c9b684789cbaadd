#ifndef PACELINE_SERVICES_CLI_ADMIN_INTERRUPTION_H_
#define PACELINE_SERVICES_CLI_ADMIN_INTERRUPTION_H_

#include <grpcpp/client_context.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/signals.h"

namespace paceline {

// Whether somebody asks a command to end. It does not wait for anything then:
// calls under way are cancelled, pauses are cut short. Thread-safe.
class Interruption {
 public:
  // By Interrupt() alone.
  Interruption() = default;
  // By SIGINT, SIGTERM and SIGHUP too, but for those that the process ignores;
  // also ignores SIGPIPE, for good. Called before there are other threads.
  static std::shared_ptr<Interruption> BySignals();

  // As if the signal had come.
  void Interrupt(int signal);

  // The first signal that asked us to end; 0 for none.
  int signal() const;

  // Returns at `until`, or when it is interrupted.
  void WaitUntil(absl::Time until) const;

  // While it lives, an interruption cancels the call; one at a time.
  class Cancels {
   public:
    // Both outlive it.
    Cancels(Interruption* interruption, grpc::ClientContext* context);
    ~Cancels();
    Cancels(const Cancels&) = delete;
    Cancels& operator=(const Cancels&) = delete;

   private:
    Interruption& interruption_;
  };

 private:
  mutable absl::Mutex mu_;
  int signal_ ABSL_GUARDED_BY(mu_) = 0;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::optional<SignalWatch> watch_;  // Ends before the rest.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_INTERRUPTION_H_
