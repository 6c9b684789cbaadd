#ifndef PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_
#define PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_

#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "services/coordinator/run/course/run_messages.h"
#include "services/simulator/nanos.h"
#include "services/simulator/virtual_log.h"

namespace paceline {

// A block of a push and where it goes, as an event has it for its argument.
struct BlockAddress {
  uint8_t server = 0;
  uint8_t block = 0;  // Of that server.
  uint16_t life = 0;  // Of that server.
  uint32_t iteration = 0;

  int64_t ToArgument() const { return std::bit_cast<int64_t>(*this); }
  static BlockAddress Of(int64_t argument) {
    return std::bit_cast<BlockAddress>(argument);
  }
};

// The server of one shard of a virtual cluster, without weights: which of the
// run's commands it has carried out, and what it has taken of whose last push.
// When that happens is the cluster's affair, and so is which process it is.
// Servers that always stand alike are one. Thread-compatible.
//
// What a primary does that has a backup has happened as soon as the backup
// knows of it: before, nobody is told, and if the primary dies it never was.
class VirtualServer {
 public:
  // Stands for the servers of the shards `first` to `first + count - 1` of the
  // run, each of which has `blocks` blocks.
  VirtualServer(int first, int count, uint32_t blocks)
      : first_(first), count_(count), blocks_(blocks) {}

  int first() const { return first_; }
  int end() const { return first_ + count_; }  // Behind the last.
  uint32_t blocks() const { return blocks_; }
  // Its next worker, in the order of their numbers.
  void AddWorker() { pushes_.emplace_back(); }

  // A command is under way to it, the one before arrives before it.
  void Send(const NumberedCommand& command) { to_take_.push_back(command); }
  bool has_command() const { return served_.size() < to_take_.size(); }
  // The next that arrives.  REQUIRES: has_command().
  const NumberedCommand& next_command() const {
    return to_take_[served_.size()];
  }
  // That one has arrived, and those before it and what else the server is busy
  // with let it be served then.
  void Await(Nanos served) { served_.push_back(served); }
  // When the last of those is served; nullopt: none waits.
  std::optional<Nanos> last_served() const {
    return served_.empty() ? std::nullopt : std::optional(served_.back());
  }
  // When that closing has been carried out, at the earliest `now`; nullopt: it
  // has not arrived.
  std::optional<Nanos> ClosedAt(Closing closing, Nanos now) const;
  // The first one that has not been taken, whether it had to wait or not.
  NumberedCommand TakeCommand();
  // It is carried out.
  void Perform(const NumberedCommand& command);
  // The number of the last one that was.
  uint64_t performed() const { return performed_; }
  // It is to be answered, after those before.
  void WillAnswer(const NumberedCommand& command) {
    to_answer_.push_back(command);
  }
  bool has_answer() const { return !to_answer_.empty(); }
  // The first that is to be answered, and what the servers answer to it.
  // REQUIRES: has_answer().
  const NumberedCommand& to_answer() const { return to_answer_.front(); }
  std::vector<CommandDone> Answer();
  // No command is under way to it, and no answer from it.
  bool idle() const { return to_take_.empty() && to_answer_.empty(); }

  // Takes one block of a push; as one that stands for several, of each. False:
  // the worker is fenced.
  bool Take(const PushedBlock& block);
  bool Has(const PushedBlock& block) const;
  bool HasAll(uint32_t worker, Iteration iteration) const;
  // The last iteration of which it took a block.
  Iteration LastOf(uint32_t worker) const { return pushes_[worker].iteration; }

  // The coordinator has died, and all that was under way between them is lost,
  // until another one has this server back. Nothing is sent to it until then.
  void Lose();
  void Return() { away_ = false; }
  bool away() const { return away_; }

  // Its process has died, and what it knew alone is lost. Another one goes on.
  void Die();
  void GoOn();
  bool dead() const { return dead_; }
  // Which process it is: what was sent to one does not arrive at another.
  uint16_t life() const { return life_; }
  // The process that has to know of everything first, if there is one.
  std::optional<int> backup = std::nullopt;
  VirtualLog log = {};

  // Its part of a checkpoint of that snapshot.
  void BeginWriting(int64_t snapshot) { writing_.insert(snapshot); }
  // False: whoever wrote it has died.
  bool EndWriting(int64_t snapshot) {
    return !writing_.extract(snapshot).empty();
  }

  // It carries out nothing any more.
  void Hang() { hangs_ = true; }
  bool hangs() const { return hangs_; }

  // Moments of the last message there and the last one back: they stay in
  // order.
  Nanos last_there = 0;
  Nanos last_back = 0;

 private:
  struct LastPush {
    Iteration iteration = 0;
    uint32_t samples = 0;
    uint64_t taken = 0;  // Blocks, a bit each.
    bool fenced = false;
  };

  const int first_;
  const int count_;
  const uint32_t blocks_;
  std::deque<NumberedCommand> to_take_;
  // When those that wait are served: the first ones of `to_take_`.
  std::deque<Nanos> served_;
  std::deque<NumberedCommand> to_answer_;
  uint64_t performed_ = 0;
  Closing closing_ = 0;
  bool hangs_ = false;
  bool away_ = false;
  bool dead_ = false;
  uint16_t life_ = 0;
  std::multiset<int64_t> writing_;
  std::vector<LastPush> pushes_;  // By worker.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_VIRTUAL_SERVER_H_
