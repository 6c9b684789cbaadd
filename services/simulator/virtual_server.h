#ifndef PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_
#define PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "services/coordinator/run/course/run_messages.h"
#include "services/simulator/nanos.h"

namespace paceline {

// A parameter server of a virtual cluster, without weights: which of the run's
// commands it has carried out, and what it has taken of whose last push. When
// that happens is the cluster's affair. Servers that always stand alike are
// one. Thread-compatible.
class VirtualServer {
 public:
  // Stands for the servers `first` to `first + count - 1` of the run, each of
  // which hosts `blocks` blocks.
  VirtualServer(int first, int count, uint32_t blocks)
      : first_(first), count_(count), blocks_(blocks) {}

  int first() const { return first_; }
  int end() const { return first_ + count_; }  // Behind the last.
  uint32_t blocks() const { return blocks_; }
  // Its next worker, in the order of their numbers.
  void AddWorker() { pushes_.emplace_back(); }

  // A command is under way to it, the one before is carried out before it.
  void Send(const NumberedCommand& command) { to_perform_.push_back(command); }
  // Carries out the next command.
  // REQUIRES: one is under way, and it does not hang.
  const NumberedCommand& Perform();
  // The first that it has carried out and not answered, and what the servers
  // answer to it.  REQUIRES: there is one.
  const NumberedCommand& to_answer() const { return to_answer_.front(); }
  std::vector<CommandDone> Answer();
  // No command is under way to it, and no answer from it.
  bool idle() const { return to_perform_.empty() && to_answer_.empty(); }
  // The number of the last one that was carried out, and its last closing.
  uint64_t performed() const { return performed_; }
  Closing closing() const { return closing_; }

  // The coordinator has died, and all that was under way between them is lost,
  // until another one has this server back.
  void Lose();
  void Return() { away_ = false; }
  bool away() const { return away_; }
  // One that it has carried out: it is answered once more.
  void Repeat(const NumberedCommand& command) { to_answer_.push_back(command); }
  bool has_command() const { return !to_perform_.empty(); }
  bool has_answer() const { return !to_answer_.empty(); }

  // It carries out nothing any more.
  void Hang() { hangs_ = true; }
  bool hangs() const { return hangs_; }

  // One block of a push of so many samples; on a server that stands for
  // several, of each. False: the worker is fenced.
  bool Take(uint32_t worker, Iteration iteration, uint32_t samples);
  // The last iteration of which it took a block.
  Iteration LastOf(uint32_t worker) const { return pushes_[worker].iteration; }

  // Moments of the last message there and the last one back: they stay in
  // order.
  Nanos last_there = 0;
  Nanos last_back = 0;

 private:
  struct LastPush {
    Iteration iteration = 0;
    uint32_t samples = 0;
    uint32_t blocks = 0;  // Taken.
    bool fenced = false;
  };

  const int first_;
  const int count_;
  const uint32_t blocks_;
  std::deque<NumberedCommand> to_perform_;
  std::deque<NumberedCommand> to_answer_;
  uint64_t performed_ = 0;
  Closing closing_ = 0;
  bool hangs_ = false;
  bool away_ = false;
  std::vector<LastPush> pushes_;  // By worker.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_
