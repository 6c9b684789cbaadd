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

// Hands signals to an ordinary thread, where a handler may take locks and write
// logs. The handler is called for each signal that comes.
class SignalWatch {
 public:
  // `kept` is what KeepSignals() has returned.
  SignalWatch(const sigset_t& kept, std::function<void(int signal)> handler);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int wake_ = -1;  // Becomes readable when the watch ends.
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SIGNALS_H_
