#include "services/simulator/virtual_server.h"

#include <utility>
#include <variant>

#include "common/check.h"
#include "services/simulator/virtual_worker.h"

namespace paceline {

const NumberedCommand& VirtualServer::Perform() {
  CHECK(!hangs_ && !to_perform_.empty());
  to_answer_.push_back(std::move(to_perform_.front()));
  to_perform_.pop_front();
  const NumberedCommand& command = to_answer_.back();
  performed_ = command.sequence;
  if (const auto* close = std::get_if<CloseCommand>(&command.command)) {
    closing_ = close->closing;
  }
  if (const auto* fence = std::get_if<FenceIncarnation>(&command.command)) {
    pushes_[WorkerOf(fence->incarnation)].fenced = true;
  }
  return command;
}

void VirtualServer::Lose() {
  away_ = true;
  to_perform_.clear();
  to_answer_.clear();
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
    done.fence = FenceAnswer{.server = server,
                             .iteration = last.iteration,
                             .blocks_taken = last.blocks,
                             .blocks = blocks_,
                             .samples = last.samples};
  }
  return answers;
}

bool VirtualServer::Take(uint32_t worker, Iteration iteration,
                         uint32_t samples) {
  LastPush& last = pushes_[worker];
  if (last.fenced) return false;
  if (last.iteration != iteration) {
    last.iteration = iteration;
    last.samples = samples;
    last.blocks = 0;
  }
  ++last.blocks;
  return true;
}

}  // namespace paceline
