#ifndef PACELINE_SERVICES_SIMULATOR_VIRTUAL_CLUSTER_H_
#define PACELINE_SERVICES_SIMULATOR_VIRTUAL_CLUSTER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "services/coordinator/run/course/course.h"
#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/device_queue.h"
#include "services/simulator/event_queue.h"
#include "services/simulator/faults.h"
#include "services/simulator/run_statistics.h"
#include "services/simulator/server_load.h"
#include "services/simulator/simulation_result.h"
#include "services/simulator/virtual_server.h"
#include "services/simulator/virtual_worker.h"

namespace paceline {

// A whole cluster in virtual time around the real RunCourse: the other driver
// beside the coordinator's RunDriver. It holds no rule. Time jumps from event
// to event, nothing sleeps, and one spec gives one history, byte for byte.
//
// The job begins at 0, with everybody who is there then: loading takes no time.
// An iteration: the grant travels, then the request for the weights, which the
// servers park until the closing that the grant names; the weights travel; the
// device computes, in micro-batches if there are such; if the plan is to be
// asked for, question and answer travel; the gradient travels, the servers
// acknowledge, the report travels. With links and servers that cost nothing
// only the computing takes time. Servers stand alike, snapshots are evaluated
// by the observer as soon as they are taken, and all ends with the training.
//
// A whole run (ClusterSpec::whole_run) begins with its opening and ends with
// RunEnded and what is under way then. Whatever takes time there, and whatever
// goes wrong, is drawn as ClusterSpec::faults say. Servers stand apart. They
// have backups if the job says so, and then their processes can die.
//
// Heartbeats cost no events: before a Tick of the core everybody who lives is
// heard. Thread-compatible.
class VirtualCluster {
 public:
  // All outlive the cluster. Observers are told in their order; null is none.
  VirtualCluster(const ClusterSpec* spec,
                 std::vector<ClusterObserver*> observers);

  // Runs to the end. Called once.
  SimulationResult Run();

 private:
  using ShardOrder = std::variant<HostBackup, SetBackup, PromoteBackup>;

  // virtual_cluster.cc: the course of time.
  std::unique_ptr<RunCourse> NewCourse() const;
  void Begin();
  const SyncCore& core() const { return *course_->core(); }
  bool Over() const;
  void TimeIsOver();
  void LetServersFinish();
  SimulationResult Result(const std::string& paradigm);
  // True if the core's deadline comes before the next event.
  bool TickIsNext(Nanos deadline) const;
  void TimePasses();
  void HearEverybody();
  void Handle(const TimedEvent& event);
  void HandleOrder(const TimedEvent& event);
  void HandleWorker(const TimedEvent& event);
  void Change(const MembershipChange& change);
  void NewWorker(size_t index);
  void Register(uint32_t id);
  void Join(size_t index);
  void SwitchByTime();
  void LetPilotLook();

  // virtual_cluster_life.cc: what a whole run has besides its training.
  void BeginLife(const std::vector<bool>& there);
  void HandleLife(const TimedEvent& event);
  // It cannot do what the event says: it is gone, is frozen, or something has
  // just happened to it.
  bool Hindered(const TimedEvent& event);
  bool Happens(int chance) { return draws_.Happens(chance, now_); }
  void LoseMember(uint32_t id, LossReason reason);
  void Loaded(uint32_t id);
  void EvaluatorComes();
  void Evaluated(uint32_t id);
  void EverySecond();
  // Another coordinator takes the inputs of the one that has died again.
  void RestartCoordinator();
  bool IsEvaluator(uint32_t id) const { return id >= workers_.size(); }
  VirtualEvaluator& EvaluatorOf(uint32_t id);
  VirtualMember& MemberOf(uint32_t id);

  // virtual_cluster_outputs.cc: the coordinator's side.
  void Give(const RunInput& input);
  // Of what the course may refuse.
  absl::Status Offer(const RunInput& input);
  void Perform(const RunOutput& output);
  void PerformLife(const RunOutput& output);

  // virtual_cluster_servers.cc: the servers' side.
  void HandleServer(const TimedEvent& event);
  void SendToServers(const NumberedCommand& command);
  void SendToServer(uint32_t server, const NumberedCommand& command);
  void Resend(const ResendCommands& resend);
  void ServerTakes(uint32_t server);
  void ServerCarriesOut(uint32_t server);
  void BlockArrives(uint32_t id, const BlockAddress& address);
  void Acknowledge(uint32_t server, const PushedBlock& block);
  // The primary has done it: it has happened once its backup has it, and is
  // told once the primary knows of that.
  void Log(uint32_t server, const LogEntry& entry);
  void EntryArrives(uint32_t server, int64_t log);
  void EntryKnown(uint32_t server, int64_t log);
  void Happened(uint32_t server, const LogEntry& entry);
  void Known(uint32_t server, const LogEntry& entry);
  void EndLog(uint32_t server);
  void Performed(uint32_t server, const NumberedCommand& command);
  void Answer(uint32_t server, const NumberedCommand& command, Nanos way);
  void ServerAnswers(uint32_t server);
  void Evaluate(const SnapshotCommand& snapshot);
  void ServerReturns(uint32_t server);
  // Backups, which servers of a whole run have if the job says so.
  bool replicated() const { return spec_.run.replicas > 0; }
  int PrimaryOf(uint32_t server) const;  // The process.
  void OrderServer(const ShardOrder& order);
  void OrderArrives(int64_t order);
  void BackupFilled(int64_t order);
  void AnswerOrder(int64_t order);
  void OrderAnswered(int64_t order);
  // True: the process dies of what was to happen there.
  bool ServerDies(int process);
  void ServerComes();
  void LoseWord(uint32_t id, uint32_t server);
  void TellWorkers(const ShardMoved& moved);
  void HearOfShard(uint32_t id, uint32_t server);

  // virtual_cluster_load.cc: what servers and their links are busy with.
  bool Shares(const std::optional<Nanos>& recorded) const;
  void Transfer(uint32_t id, Direction direction);
  void Transferred(Direction direction);
  void BreakOff(uint32_t id);
  void AwaitTransfers();

  // virtual_cluster_workers.cc: the workers' side.
  void TakeGrant(const Grant& grant);
  void Pull(uint32_t id);
  void LetPull();
  void PullServed(uint32_t id);
  void HaveWeights(uint32_t id, Nanos at);
  // Computes the range in hand, once the device is free.
  void AskForDevice(uint32_t id);
  void ComputeFrom(uint32_t id, Nanos at);
  void LeaveDevice(uint32_t id);
  // Index of the worker whose device and link it has.
  size_t DeviceOf(const VirtualWorker& worker) const {
    return spec_.workers[worker.index].of.value_or(worker.index);
  }
  // Null: nobody else has them.
  DeviceQueue* QueueOf(const VirtualWorker& worker);
  void Computed(uint32_t id);
  void GradientReady(uint32_t id);
  void SendPlan(const PlanCommand& command);
  void SendExtension(const ExtendCommand& command);
  void GoOn(uint32_t id);
  void Push(uint32_t id);
  void PushArrives(uint32_t id);
  void PushServed(uint32_t id);
  void PushBlocks(uint32_t id);
  void BlockLeaves(uint32_t id, const BlockAddress& address);
  void SendBlock(uint32_t id, BlockAddress address);
  void PushDone(uint32_t id);
  void TakeRefresh(uint32_t id, Iteration iteration);
  void TakeAbandon(uint32_t id, Iteration iteration);
  void Abandoned(uint32_t id);
  void Leave(uint32_t id);
  void Crash(uint32_t id);
  void Evicted(uint32_t id);
  void Die(uint32_t id);
  // Calls one function of every observer.
  template <typename... Params, typename... Args>
  void Tell(void (ClusterObserver::*news)(Params...), Args&&... args);
  // The worker's iteration was over at `until`; the worker is gone.
  void IterationOver(uint32_t id, Nanos until);
  void TellGone(uint32_t id);
  // Sets when and with how many samples the computing of the range in hand
  // ends.
  void PlanCompute(VirtualWorker& worker) const;

  // The next event of the member's own course, in place of any other.
  void Next(uint32_t id, EventKind kind, Nanos at);
  void Send(EventKind kind, uint32_t id, Nanos at, int64_t argument = 0);
  VirtualWorker& Of(WorkerId id) { return workers_[ToNumber(id)]; }
  Nanos LatencyOf(uint32_t id) const;
  SampleWishes WishesOf(uint32_t id) const;
  // The way of a message; when one arrives, in order, there or from there.
  Nanos WayOf(uint32_t id);
  Nanos ArrivalAtMember(uint32_t id);
  Nanos ArrivalFromMember(uint32_t id);
  // Of the whole model on links that nobody shares, latency excluded.
  Nanos TransferTime(const VirtualWorker& worker) const;

  const ClusterSpec& spec_;
  std::vector<ClusterObserver*> observers_;
  FaultDraws draws_;
  std::unique_ptr<RunCourse> course_;
  std::vector<std::pair<Nanos, RunInput>> inputs_;  // If coordinators die.
  RunStatistics statistics_;
  EventQueue queue_;
  Nanos now_ = 0;

  std::vector<Device> devices_;  // By index.
  // By index: of those whose device others share.
  std::vector<std::optional<DeviceQueue>> queues_;
  std::vector<VirtualWorker> workers_;  // By WorkerId.
  // Of each index its latest incarnation; -1: none yet.
  std::vector<int64_t> latest_;
  std::vector<VirtualEvaluator> evaluators_;  // Of a whole run.
  Nanos heard_ = 0;                           // When everybody was.
  int64_t ticks_now_ = 0;                     // In this nanosecond.
  std::vector<VirtualServer> servers_;
  ServerLoad load_;
  // When transfers of each direction end, as the queue knows.
  std::array<Nanos, 2> awaited_ = {kNever, kNever};
  std::vector<bool> processes_;           // Of servers: which of them live.
  std::vector<ShardOrder> shard_orders_;  // All that were given.
  Nanos last_order_ = 0;                  // When it arrives.
  // Pulls that wait for what servers have not closed yet, and the generations
  // of their workers.
  std::vector<std::pair<uint32_t, int64_t>> parked_;
  Nanos closed_at_ = 0;  // When the servers have applied the last closing.
  // That they have to answer, by the command.
  std::map<uint64_t, ClosedGradient> closed_gradients_;
  // Of the snapshots that all servers have taken, what comes of evaluating.
  std::map<int64_t, MemberEvaluated> results_;
  std::vector<std::string> asked_of_disk_;  // Manifests, folders to remove.
  size_t next_switch_ = 0;
  size_t switches_due_ = 0;  // By time.
};

template <typename... Params, typename... Args>
void VirtualCluster::Tell(void (ClusterObserver::*news)(Params...),
                          Args&&... args) {
  for (ClusterObserver* observer : observers_) (observer->*news)(args...);
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_VIRTUAL_CLUSTER_H_
