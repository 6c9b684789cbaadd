// The servers of a VirtualCluster: what they carry out and take, their backups,
// their deaths.

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

void VirtualCluster::SendToServers(const NumberedCommand& command) {
  if (!spec_.whole_run && std::holds_alternative<HostBlocks>(command.command)) {
    return;  // They host the blocks before time begins.
  }
  Nanos last = 0;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].away()) continue;
    SendToServer(i, command);
    last = std::max(last, servers_[i].last_there);
  }
  if (!std::holds_alternative<CloseCommand>(command.command)) return;
  statistics_.Closed();
  closed_at_ = last;
}

void VirtualCluster::SendToServer(uint32_t number,
                                  const NumberedCommand& command) {
  VirtualServer& server = servers_[number];
  server.Send(command);
  server.last_there = std::max(
      server.last_there,
      now_ + spec_.server_latency + draws_.Late(spec_.faults.commanding, now_));
  Send(EventKind::kServerCommand, number, server.last_there);
}

void VirtualCluster::Resend(const ResendCommands& resend) {
  const auto number = static_cast<uint32_t>(resend.shard);
  VirtualServer& server = servers_[number];
  for (const NumberedCommand& command : resend.commands) {
    if (command.sequence > server.performed()) {
      SendToServer(number, command);
    } else {
      Answer(number, command, 2 * spec_.server_latency);
    }
  }
}

void VirtualCluster::ServerTakes(uint32_t number) {
  VirtualServer& server = servers_[number];
  if (!server.has_command()) return;  // It was lost on its way.
  // A closing is an update, in its place among the pushes and pulls. Commands
  // that come behind it wait for it.
  Nanos served = server.last_served().value_or(now_);
  if (std::holds_alternative<CloseCommand>(server.next_command().command)) {
    served = load_.ServeClosing(now_);
  }
  if (served == now_) return ServerCarriesOut(number);
  server.Await(served);
  Send(EventKind::kCommandServed, number, served);
}

void VirtualCluster::ServerCarriesOut(uint32_t number) {
  VirtualServer& server = servers_[number];
  if (Happens(spec_.faults.server_hangs)) server.Hang();
  if (server.hangs() || ServerDies(PrimaryOf(number))) return;
  Log(number, server.TakeCommand());
}

void VirtualCluster::HandleServer(const TimedEvent& event) {
  switch (event.kind) {
    case EventKind::kEntryArrives:
      return EntryArrives(event.worker, event.argument);
    case EventKind::kEntryKnown:
      return EntryKnown(event.worker, event.argument);
    case EventKind::kOrderArrives:
      return OrderArrives(event.argument);
    case EventKind::kBackupFilled:
      return BackupFilled(event.argument);
    case EventKind::kOrderAnswered:
      return OrderAnswered(event.argument);
    case EventKind::kBackupBreaks: {
      if (servers_[event.worker].backup != event.argument) return;
      const MappedShard& shard = course_->shards().shards()[event.worker];
      return Give(BackupReported{shard.primary, static_cast<int>(event.worker),
                                 shard.epoch,
                                 absl::UnavailableError("its stream broke")});
    }
    case EventKind::kServerLinkBreaks:
      return Give(ServerLinkChanged{.server = static_cast<int>(event.argument),
                                    .link = 1,
                                    .connected = false});
    case EventKind::kServerGone:
      return Give(ServerLost{static_cast<int>(event.argument),
                             absl::UnavailableError("it has died")});
    case EventKind::kServerComes:
      return ServerComes();
    default:
      CHECK(false);
  }
}

void VirtualCluster::BlockArrives(uint32_t id, const BlockAddress& address) {
  const VirtualWorker& worker = workers_[id];
  const VirtualServer& server = servers_[address.server];
  // Or it was sent again, and taken meanwhile.
  if (server.dead() || server.life() != address.life ||
      worker.grant.iteration != address.iteration ||
      ServerDies(PrimaryOf(address.server))) {
    return;
  }
  const PushedBlock block{.worker = id,
                          .iteration = address.iteration,
                          .block = address.block,
                          .samples = worker.samples};
  // Its acknowledgement was lost with the process before this one.
  if (server.Has(block)) return Acknowledge(address.server, block);
  Log(address.server, block);
}

// The worker hears of a push once each server has all of it, in its backup too.
void VirtualCluster::Acknowledge(uint32_t number, const PushedBlock& block) {
  VirtualWorker& worker = workers_[block.worker];
  if (worker.grant.iteration != block.iteration ||
      !servers_[number].HasAll(block.worker, block.iteration) ||
      std::exchange(worker.links[number].acknowledged, true) ||
      --worker.unacknowledged > 0) {
    return;
  }
  if (!std::exchange(worker.taken, true)) {
    Tell(&ClusterObserver::PushTaken, now_, worker.grant, worker.samples,
         worker.report);
  }
  if (!worker.alive) return;
  if (Happens(spec_.faults.block_refused)) {
    worker.report.blocks_refused = 1;
    worker.report.gradient_square.reset();
  }
  Next(block.worker, EventKind::kAcknowledged, now_ + WayOf(block.worker));
}

// What has no backup to wait for has happened.
void VirtualCluster::Log(uint32_t number, const LogEntry& entry) {
  VirtualServer& server = servers_[number];
  if (!server.backup.has_value()) {
    Happened(number, entry);
    return Known(number, entry);
  }
  server.log.Append(entry);
  server.log.last_there =
      std::max(server.log.last_there,
               now_ + draws_.Late(spec_.faults.replicating, now_));
  Send(EventKind::kEntryArrives, number, server.log.last_there,
       server.log.number());
}

void VirtualCluster::EntryArrives(uint32_t number, int64_t log) {
  VirtualServer& server = servers_[number];
  if (log != server.log.number() || !processes_[*server.backup] ||
      ServerDies(*server.backup)) {
    return;
  }
  Happened(number, *server.log.Arrive(log));
  server.log.last_back = std::max(
      server.log.last_back, now_ + draws_.Late(spec_.faults.replicating, now_));
  Send(EventKind::kEntryKnown, number, server.log.last_back, log);
}

void VirtualCluster::EntryKnown(uint32_t number, int64_t log) {
  VirtualServer& server = servers_[number];
  if (log != server.log.number() || ServerDies(PrimaryOf(number))) return;
  Known(number, *server.log.Know(log));
}

void VirtualCluster::Happened(uint32_t number, const LogEntry& entry) {
  std::visit(
      Overloaded{
          [&](const NumberedCommand& command) { Performed(number, command); },
          [&](const PushedBlock& block) {
            if (!servers_[number].Take(block)) return;
            Tell(&ClusterObserver::BlockTaken, now_, static_cast<int>(number),
                 workers_[block.worker].grant, block.samples);
          }},
      entry);
}

void VirtualCluster::Performed(uint32_t number,
                               const NumberedCommand& command) {
  VirtualServer& server = servers_[number];
  server.Perform(command);
  for (int each = server.first(); each < server.end(); ++each) {
    Tell(&ClusterObserver::Performed, now_, each, command);
  }
  for (const VirtualServer& other : servers_) {
    if (other.performed() < command.sequence) return;
  }
  if (const auto* close = std::get_if<CloseCommand>(&command.command)) {
    std::optional<ClosedGradient> gradient;
    Tell(&ClusterObserver::Closed, now_, *close, gradient);
    if (gradient.has_value()) closed_gradients_[command.sequence] = *gradient;
  }
  if (const auto* taken = std::get_if<SnapshotCommand>(&command.command)) {
    Evaluate(*taken);
  }
}

void VirtualCluster::Known(uint32_t number, const LogEntry& entry) {
  if (const auto* block = std::get_if<PushedBlock>(&entry)) {
    return Acknowledge(number, *block);
  }
  Answer(number, std::get<NumberedCommand>(entry), spec_.server_latency);
  LetPull();
}

// It was carried out.
void VirtualCluster::Answer(uint32_t number, const NumberedCommand& command,
                            Nanos way) {
  VirtualServer& server = servers_[number];
  server.WillAnswer(command);
  server.last_back =
      std::max(server.last_back,
               now_ + way + draws_.Late(spec_.faults.commanding, now_));
  Send(EventKind::kServerAnswers, number, server.last_back);
  if (const auto* write = std::get_if<WriteBlocks>(&command.command)) {
    server.BeginWriting(write->snapshot);
    Send(EventKind::kPartWritten, number,
         now_ + draws_.Delay(spec_.faults.writing), write->snapshot);
  }
}

void VirtualCluster::Evaluate(const SnapshotCommand& snapshot) {
  MemberEvaluated evaluated;
  evaluated.worker = kEvaluator;
  evaluated.snapshot = snapshot.snapshot;
  Tell(&ClusterObserver::SnapshotTaken, now_, snapshot, evaluated);
  if (spec_.whole_run) {
    results_[evaluated.snapshot] = evaluated;
  } else {
    Give(evaluated);
  }
}

void VirtualCluster::ServerAnswers(uint32_t number) {
  VirtualServer& server = servers_[number];
  if (!server.has_answer()) return;  // It was lost on its way.
  const bool refused =
      std::holds_alternative<SnapshotCommand>(server.to_answer().command) &&
      Happens(spec_.faults.snapshot_refused);
  // All of them have measured it together: the first says it, and the others
  // nothing. One that has answered before is not heard.
  auto gradient = closed_gradients_.extract(server.to_answer().sequence);
  for (CommandDone& done : server.Answer()) {
    if (!gradient.empty()) {
      done.gradient = std::exchange(gradient.mapped(), ClosedGradient{});
    }
    if (refused) done.status = absl::ResourceExhaustedError("no room");
    Give(done);
    if (done.fence.has_value() && Happens(spec_.faults.fence_repeated)) {
      Give(done);
    }
  }
}

void VirtualCluster::ServerReturns(uint32_t number) {
  VirtualServer& server = servers_[number];
  const auto shard = static_cast<int>(number);
  if (!server.away() || course_->shards().servers()[shard].gone) return;
  server.Return();
  Give(ServerReturned{
      shard,
      course_->shards().servers()[shard].is,
      {{shard, course_->shards().shards()[shard].epoch, /*backup=*/false}}});
}

// Backups.

int VirtualCluster::PrimaryOf(uint32_t number) const {
  return course_->shards().shards()[number].primary;
}

void VirtualCluster::OrderServer(const ShardOrder& order) {
  if (!spec_.whole_run) return;
  last_order_ =
      std::max(last_order_, now_ + draws_.Late(spec_.faults.commanding, now_));
  Send(EventKind::kOrderArrives, 0, last_order_,
       static_cast<int64_t>(shard_orders_.size()));
  shard_orders_.push_back(order);
}

void VirtualCluster::OrderArrives(int64_t number) {
  const ShardOrder order = shard_orders_[number];
  const int process = std::visit([](const auto& o) { return o.server; }, order);
  if (!processes_[process] || ServerDies(process)) return;
  if (const auto* const set = std::get_if<SetBackup>(&order)) {
    // Nobody waits for one that has not everything.
    EndLog(static_cast<uint32_t>(set->shard));
    if (!set->backup.has_value()) return;
    return Send(EventKind::kBackupFilled, 0,
                now_ + 10 * draws_.Delay(spec_.faults.replicating), number);
  }
  AnswerOrder(number);
}

void VirtualCluster::BackupFilled(int64_t number) {
  const auto& set = std::get<SetBackup>(shard_orders_[number]);
  // Another order may have come meanwhile.
  const MappedShard& shard = course_->shards().shards()[set.shard];
  if (shard.epoch != set.epoch || !processes_[set.server] ||
      !processes_[*set.backup]) {
    return;
  }
  servers_[set.shard].backup = set.backup;
  AnswerOrder(number);
}

void VirtualCluster::AnswerOrder(int64_t number) {
  Send(EventKind::kOrderAnswered, 0,
       now_ + draws_.Late(spec_.faults.commanding, now_), number);
}

void VirtualCluster::OrderAnswered(int64_t number) {
  std::visit(
      Overloaded{
          [&](const PromoteBackup& o) {
            VirtualServer& server = servers_[o.shard];
            server.GoOn();
            Give(
                BackupPromoted{o.server, o.shard, o.epoch, server.performed()});
            LetPull();
          },
          [&](const auto& o) {
            Give(BackupReported{o.server, o.shard, o.epoch, absl::OkStatus()});
          }},
      shard_orders_[number]);
}

// What its backup has not heard of has happened all the same.
void VirtualCluster::EndLog(uint32_t number) {
  VirtualServer& server = servers_[number];
  server.backup.reset();
  const auto [unknown, on_its_way] = server.log.End();
  for (const LogEntry& entry : unknown) Known(number, entry);
  for (const LogEntry& entry : on_its_way) {
    Happened(number, entry);
    Known(number, entry);
  }
}

void VirtualCluster::TellWorkers(const ShardMoved& moved) {
  for (uint32_t id = 0; id < workers_.size(); ++id) {
    if (!workers_[id].alive) continue;
    Send(EventKind::kShardMoved, id, ArrivalAtMember(id), moved.shard);
  }
}

// The server's process has died, and its word may have been on its way.
void VirtualCluster::LoseWord(uint32_t id, uint32_t number) {
  VirtualWorker& worker = workers_[id];
  if (!worker.alive || worker.acknowledged || servers_[number].blocks() == 0) {
    return;
  }
  bool& acknowledged = worker.links[number].acknowledged;
  if (!acknowledged || draws_.Chance(1, 2)) return;
  acknowledged = false;
  if (worker.unacknowledged++ == 0) ++worker.generation;
}

// It dials the new primary, and pushes again what is not acknowledged.
void VirtualCluster::HearOfShard(uint32_t id, uint32_t number) {
  VirtualWorker& worker = workers_[id];
  if (!worker.alive) return;
  VirtualWorker::Link& link = worker.links[number];
  if (std::exchange(link.life, servers_[number].life()) ==
      servers_[number].life()) {
    return;  // It has dialled that one already.
  }
  if (worker.acknowledged || link.acknowledged) return;
  for (uint8_t block = 0; block < link.left; ++block) {
    SendBlock(id, {.server = static_cast<uint8_t>(number), .block = block});
  }
}

bool VirtualCluster::ServerDies(int process) {
  if (!replicated() || course_->core() == nullptr ||
      course_->stage() == RunStage::kEnded ||
      course_->shards().without_backup() > 0 || !draws_.ServerDies(now_)) {
    return false;
  }
  processes_[process] = false;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].backup == process) {
      Send(EventKind::kBackupBreaks, i,
           now_ + draws_.Late(spec_.faults.commanding, now_), process);
    }
    if (PrimaryOf(i) != process) continue;
    servers_[i].Die();
    for (uint32_t id = 0; id < workers_.size(); ++id) LoseWord(id, i);
  }
  // Its stream breaks; another process with its name may say that it is gone.
  Send(EventKind::kServerLinkBreaks, 0, now_, process);
  const Nanos lease = absl::ToInt64Nanoseconds(spec_.run.lease);
  Send(EventKind::kServerGone, 0, now_ + (draws_.Chance(1, 3) ? 0 : lease),
       process);
  Send(EventKind::kServerComes, 0, now_ + draws_.Delay(lease));
  return true;
}

void VirtualCluster::ServerComes() {
  if (course_->stage() == RunStage::kEnded) return;
  const RunServer server{.name = absl::StrCat("s", processes_.size()),
                         .replicates = true};
  processes_.push_back(true);
  Give(ServerCame{server});
}

}  // namespace paceline
