#ifndef PACELINE_SERVICES_CLI_INTERRUPT_WATCH_H_
#define PACELINE_SERVICES_CLI_INTERRUPT_WATCH_H_

#include <signal.h>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace paceline {

// Turns SIGINT, SIGTERM, SIGHUP and SIGCHLD into a readable descriptor for as
// long as it lives, so that a loop around poll(2) sees them like any input.
// A signal that this process was told to ignore (nohup) stays ignored. Also
// ignores SIGPIPE, for good. There is one at a time: it handles the signals of
// the whole process (KeepSignals), and gives them their defaults at its end.
//
// Thread-compatible; make it on the main thread before there are others, since
// the mask is a thread's own.
class InterruptWatch {
 public:
  // INTERNAL if the system refuses.
  static absl::StatusOr<InterruptWatch> Create();

  InterruptWatch(InterruptWatch&& other) noexcept;
  InterruptWatch& operator=(InterruptWatch&&) = delete;
  ~InterruptWatch();

  // Readable when a signal has arrived.
  int fd() const { return fd_.get(); }

  // Takes what has arrived.
  void Read();

  // How often, since the start, somebody asked us to end.
  int count() const { return count_; }
  // The first signal that asked us to end; 0 for none.
  int first() const { return first_; }

 private:
  InterruptWatch(UniqueFd fd, const sigset_t& watched, const sigset_t& previous)
      : fd_(std::move(fd)), watched_(watched), previous_(previous) {}

  UniqueFd fd_;
  sigset_t watched_;
  sigset_t previous_;
  int count_ = 0;
  int first_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_INTERRUPT_WATCH_H_
