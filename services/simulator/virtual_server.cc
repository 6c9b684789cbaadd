#include "services/simulator/virtual_server.h"

#include <bit>
#include <utility>
#include <variant>

#include "common/check.h"
#include "services/simulator/virtual_worker.h"

namespace paceline {

NumberedCommand VirtualServer::TakeCommand() {
  CHECK(!hangs_ && !to_take_.empty());
  NumberedCommand command = std::move(to_take_.front());
  to_take_.pop_front();
  if (!served_.empty()) served_.pop_front();
  return command;
}

std::optional<Nanos> VirtualServer::ClosedAt(Closing closing, Nanos now) const {
  if (closing_ >= closing) return now;
  for (size_t i = 0; i < served_.size(); ++i) {
    const auto* close = std::get_if<CloseCommand>(&to_take_[i].command);
    if (close != nullptr && close->closing >= closing) return served_[i];
  }
  return std::nullopt;
}

void VirtualServer::Perform(const NumberedCommand& command) {
  performed_ = command.sequence;
  if (const auto* close = std::get_if<CloseCommand>(&command.command)) {
    closing_ = close->closing;
  }
  if (const auto* fence = std::get_if<FenceIncarnation>(&command.command)) {
    pushes_[WorkerOf(fence->incarnation)].fenced = true;
  }
}

void VirtualServer::Lose() {
  away_ = true;
  to_take_.clear();
  served_.clear();
  to_answer_.clear();
}

void VirtualServer::Die() {
  Lose();
  dead_ = true;
  log.End();
  writing_.clear();
  backup.reset();
}

void VirtualServer::GoOn() {
  away_ = dead_ = hangs_ = false;
  ++life_;
}

std::vector<CommandDone> VirtualServer::Answer() {
  const NumberedCommand command = std::move(to_answer_.front());
  to_answer_.pop_front();
  const auto* const fence = std::get_if<FenceIncarnation>(&command.command);
  std::vector<CommandDone> answers;
  for (int server = first_; server < first_ + count_; ++server) {
    CommandDone& done = answers.emplace_back();
    done.shard = server;
    done.sequence = command.sequence;
    if (fence == nullptr) continue;
    const LastPush& last = pushes_[WorkerOf(fence->incarnation)];
    done.fence = FenceAnswer{
        .server = server,
        .iteration = last.iteration,
        .blocks_taken = static_cast<uint32_t>(std::popcount(last.taken)),
        .blocks = blocks_,
        .samples = last.samples};
  }
  return answers;
}

bool VirtualServer::Take(const PushedBlock& block) {
  LastPush& last = pushes_[block.worker];
  if (last.fenced) return false;
  if (last.iteration != block.iteration) {
    last.iteration = block.iteration;
    last.samples = block.samples;
    last.taken = 0;
  }
  CHECK(!Has(block));
  last.taken |= uint64_t{1} << block.block;
  return true;
}

bool VirtualServer::Has(const PushedBlock& block) const {
  const LastPush& last = pushes_[block.worker];
  return last.iteration == block.iteration &&
         (last.taken >> block.block & 1) != 0;
}

bool VirtualServer::HasAll(uint32_t worker, Iteration iteration) const {
  const LastPush& last = pushes_[worker];
  return last.iteration == iteration &&
         std::popcount(last.taken) == static_cast<int>(blocks_);
}

}  // namespace paceline
