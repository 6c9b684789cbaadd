#ifndef PACELINE_COMMON_SIGNALS_H_
#define PACELINE_COMMON_SIGNALS_H_

#include <signal.h>

#include <functional>
#include <initializer_list>
#include <thread>

namespace paceline {

// Blocks those of `signals` that this process does not ignore (nohup and shells
// make it so, and it stays so), and returns them: signalfd(2) reads them.
// Threads that start afterwards inherit the mask. One that a library has
// started before main, as OpenBLAS does, has it not: what comes there is sent
// on, where its default would end the process.
sigset_t KeepSignals(std::initializer_list<int> signals);

// Hands SIGTERM and SIGINT to an ordinary thread, where a handler may take
// locks and write logs. The handler is called for each signal that comes,
// unless the process ignores it.
class SignalWatch {
 public:
  // Keeps the two signals for a later SignalWatch. Called by main before any
  // thread starts: threads inherit it.
  static void Block();

  explicit SignalWatch(std::function<void(int signal)> handler);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int wake_ = -1;  // Becomes readable when the watch ends.
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SIGNALS_H_
