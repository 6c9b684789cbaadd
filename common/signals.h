#ifndef PACELINE_COMMON_SIGNALS_H_
#define PACELINE_COMMON_SIGNALS_H_

#include <functional>
#include <thread>

namespace paceline {

// Hands SIGTERM and SIGINT to an ordinary thread, where a handler may take
// locks and write logs. The handler is called for each signal that comes.
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
