#ifndef PACELINE_SERVICES_SIMULATOR_VIRTUAL_LOG_H_
#define PACELINE_SERVICES_SIMULATOR_VIRTUAL_LOG_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "services/coordinator/run/course/run_messages.h"
#include "services/simulator/nanos.h"

namespace paceline {

// One block of a push.
struct PushedBlock {
  uint32_t worker = 0;
  Iteration iteration = 0;
  uint32_t block = 0;  // From 0, on its server; below 64.
  uint32_t samples = 0;
};

// What a shard's primary tells its backup.
using LogEntry = std::variant<NumberedCommand, PushedBlock>;

// What is on its way from a primary to its backup, and what has arrived there
// without the primary knowing, in their order. Thread-compatible.
class VirtualLog {
 public:
  void Append(LogEntry entry) { on_its_way_.push_back(std::move(entry)); }
  // The next entry arrives at the backup. Nothing: that was of a log before.
  std::optional<LogEntry> Arrive(int64_t number) {
    if (number != number_ || on_its_way_.empty()) return std::nullopt;
    arrived_.push_back(std::move(on_its_way_.front()));
    on_its_way_.pop_front();
    return arrived_.back();
  }
  // The primary hears of the next one that has arrived. Nothing as above.
  std::optional<LogEntry> Know(int64_t number) {
    if (number != number_ || arrived_.empty()) return std::nullopt;
    LogEntry known = std::move(arrived_.front());
    arrived_.pop_front();
    return known;
  }
  // Another log begins. Gives what of this one was with the backup and unknown,
  // and what was not there.
  std::pair<std::deque<LogEntry>, std::deque<LogEntry>> End() {
    ++number_;
    return {std::exchange(arrived_, {}), std::exchange(on_its_way_, {})};
  }
  int64_t number() const { return number_; }

  // Moments of the last arrivals there and back: they stay in order.
  Nanos last_there = 0;
  Nanos last_back = 0;

 private:
  std::deque<LogEntry> on_its_way_;
  std::deque<LogEntry> arrived_;
  int64_t number_ = 1;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_VIRTUAL_LOG_H_
