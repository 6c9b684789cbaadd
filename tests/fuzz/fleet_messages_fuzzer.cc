// What members' streams say to the coordinator: hellos, a worker's model, then
// everything else while a job assembles, trains and ends.

#include <prometheus/registry.h>
#include <spdlog/spdlog.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "services/coordinator/fleet/fleet.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/run/silent_observer.h"

namespace paceline {
namespace {

constexpr uint64_t kRun = 77;

v1::JobSpec SmallJob(uint8_t shape) {
  constexpr const char* kParadigms[] = {"asp", "bsp", "saps:s=1", "ksync:k=1"};
  v1::JobSpec spec;
  spec.set_model("logreg");
  spec.set_data("synthetic:shapes");
  spec.set_paradigm(kParadigms[shape % 4]);
  spec.set_optimizer("sgd");
  spec.set_learning_rate(0.1);
  spec.set_schedule("constant");
  spec.set_batch_size(10);
  spec.set_batching(shape & 4 ? "even" : "balanced");
  spec.set_servers(1);
  spec.mutable_workers()->set_min(1);
  spec.mutable_stop()->set_epochs(1);
  spec.mutable_evaluation()->set_disabled((shape & 8) == 0);
  return spec;
}

// What one member has been sent. Whoever waits for a command also hears of the
// end of the run, after which none comes.
template <class Command>
class Commands : public OutgoingStream<Command> {
 public:
  void Send(Command command) override {
    absl::MutexLock lock(&mu_);
    commands_.push_back(std::move(command));
  }
  void Close(const absl::Status&) override { End(); }
  void End() {
    absl::MutexLock lock(&mu_);
    ended_ = true;
  }
  // Until a command has come for which that holds; false at the end.
  bool Await(bool (*wanted)(const Command&)) {
    absl::MutexLock lock(&mu_);
    const auto over = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return ended_ || std::any_of(commands_.begin(), commands_.end(), wanted);
    };
    mu_.Await(absl::Condition(&over));
    return !ended_;
  }
  std::vector<Command> Take() {
    absl::MutexLock lock(&mu_);
    return std::exchange(commands_, {});
  }

 private:
  absl::Mutex mu_;
  std::vector<Command> commands_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

void ExpectStreamCode(const absl::Status& status) {
  // Those of Fleet (fleet.proto), and what a lost run answers.
  ExpectCode(status, {absl::StatusCode::kInvalidArgument,
                      absl::StatusCode::kFailedPrecondition,
                      absl::StatusCode::kNotFound, absl::StatusCode::kAborted,
                      absl::StatusCode::kUnavailable});
}

class FuzzedFleet {
 public:
  explicit FuzzedFleet(uint8_t shape)
      : fleet_(&clock_, {.lease = absl::Seconds(10), .changed = [] {}}) {
    for (Server* const server : {&primary_, &other_}) {
      v1::ServerHello hello;
      hello.set_name(server == &primary_ ? "s0" : "s1");
      hello.set_address(hello.name() + ":1");
      hello.set_replicates(true);
      server->member = *fleet_.OnServerConnected(hello, server->commands);
    }
    v1::WorkerHello worker;
    worker.set_name("w0");
    worker.set_tells_log(true);
    worker_ = *fleet_.OnWorkerConnected(worker, worker_commands_);
    fleet_.AskWorkerForLog("w0", 0, [](const auto& lines) {
      if (lines.ok()) CHECK(lines->size() <= 2'000);
    });
    RunSetup setup;
    setup.job_name = "namespaces/a/jobs/j";
    setup.run = kRun;
    setup.plan = *ParseJob(SmallJob(shape));
    setup.servers = *fleet_.PickServers(1);
    setup.replicas = (shape & 16) != 0 ? 1 : 0;
    setup.over = [this] {
      worker_commands_->End();
      primary_.commands->End();
      other_.commands->End();
      over_.Notify();
    };
    static prometheus::Registry registry;
    run_ = std::make_shared<JobRun>(
        std::move(setup), &clock_, std::make_shared<SilentObserver>(),
        std::make_shared<JobMetrics>(registry, "namespaces/a/jobs/j"));
    fleet_.AddRun(run_);
    CHECK(fleet_.Assign(worker_, kRun).ok());
    run_->Start();
  }

  ~FuzzedFleet() {
    run_->Cancel(absl::CancelledError("the end"));
    over_.WaitForNotification();
    fleet_.RemoveRun(kRun);
  }

  // The worker's model and data; then, if the job takes them, up to the first
  // grant.
  void Begin(const v1::WorkerReady& ready) {
    v1::WorkerMessage message;
    *message.mutable_ready() = ready;
    if (!Say(message)) return;
    const bool hosts = primary_.commands->Await(
        [](const v1::ServerCommand& c) { return c.has_host(); });
    if (!hosts) return;
    AnswerCommands();
    message.mutable_initialized();
    if (!Say(message)) return;
    worker_commands_->Await(
        [](const v1::WorkerCommand& c) { return c.has_grant(); });
  }

  void Step(FuzzInput& fuzz) {
    const uint8_t what = fuzz.Byte();
    AnswerCommands();
    if (what % 8 == 0) clock_.Advance(absl::Seconds(what / 8));
    if (what % 4 == 1) {
      auto message = ParseMessage<v1::ServerMessage>(fuzz.Text());
      if (!message.has_value()) return;
      // Likewise of a shard's epochs.
      if ((what & 8) != 0 && message->has_backup()) {
        message->mutable_backup()->set_epoch(epoch_);
      } else if ((what & 8) != 0 && message->has_promoted()) {
        message->mutable_promoted()->set_epoch(epoch_);
      }
      Server& from = (what & 16) != 0 ? other_ : primary_;
      if ((what & 32) != 0) fleet_.OnServerDisconnected(from.member);
      ExpectStreamCode(fleet_.OnServerMessage(from.member, *message));
      return;
    }
    auto message = ParseMessage<v1::WorkerMessage>(fuzz.Text());
    if (!message.has_value()) return;
    if (message->has_log_told()) {
      return fleet_.logs().Told(worker_, message->log_told());
    }
    // Or only what comes first of an iteration would ever be accepted.
    if (what % 4 == 2 && message->has_push_done()) {
      message->mutable_push_done()->set_iteration(iteration_);
    }
    Say(*message);
  }

  Fleet& fleet() { return fleet_; }

  // What the API shows of it all.
  void Look() {
    run_->Progress().SerializeAsString();
    run_->Report();
    for (const FleetMember& member : fleet_.Members()) {
      member.worker.SerializeAsString();
    }
    fleet_.Servers();
    fleet_.EndSilent();
  }

 private:
  struct Server {
    uint64_t member = 0;
    std::shared_ptr<Commands<v1::ServerCommand>> commands =
        std::make_shared<Commands<v1::ServerCommand>>();
  };

  bool Say(const v1::WorkerMessage& message) {
    const absl::Status status = fleet_.OnWorkerMessage(worker_, message);
    ExpectStreamCode(status);
    return status.ok();
  }

  // As servers that do everything at once, but for what belongs to backups.
  void AnswerCommands() {
    for (const Server* const server : {&primary_, &other_}) {
      for (const v1::ServerCommand& command : server->commands->Take()) {
        epoch_ =
            std::max({epoch_, command.host().epoch(),
                      command.replicate().epoch(), command.promote().epoch()});
        if (command.sequence() == 0) continue;
        v1::ServerMessage done;
        done.set_run(kRun);
        done.mutable_done()->set_sequence(command.sequence());
        ExpectStreamCode(fleet_.OnServerMessage(server->member, done));
      }
    }
    for (const v1::WorkerCommand& command : worker_commands_->Take()) {
      if (command.has_grant()) iteration_ = command.grant().iteration();
    }
  }

  ManualClock clock_;
  const std::shared_ptr<Commands<v1::WorkerCommand>> worker_commands_ =
      std::make_shared<Commands<v1::WorkerCommand>>();
  Server primary_;
  Server other_;
  Fleet fleet_;
  uint64_t worker_ = 0;
  int64_t iteration_ = 1;
  uint64_t epoch_ = 0;  // The last that servers were told.
  absl::Notification over_;
  std::shared_ptr<JobRun> run_;
};

// Members that only say hello.
void Greet(Fleet& fleet, absl::string_view bytes) {
  if (const auto hello = ParseMessage<v1::WorkerHello>(bytes)) {
    const auto member = fleet.OnWorkerConnected(*hello, {});
    ExpectStreamCode(member.status());
    if (member.ok()) fleet.OnWorkerDisconnected(*member);
  }
  if (const auto hello = ParseMessage<v1::ServerHello>(bytes)) {
    const auto member = fleet.OnServerConnected(*hello, {});
    ExpectStreamCode(member.status());
  }
}

constexpr char kHello[] = R"(name: 'w1' evaluator: true pool: 'a' device: 'cpu'
  labels { key: 'a' value: 'b' } memory_bytes: 7
  programs: ['resnet', 'gpt'])";
constexpr char kModel[] = R"(train_samples: 40 test_samples: 10
  tensors { name: 'w' shape: [2, 3] size: 6 rate_factor: 2 weight_decay: 0 }
  tensors { name: 's' shape: 4 size: 4 kind: STATISTIC momentum: 0.1 })";

std::string Seed(char shape, const char* model, const std::string& steps) {
  return std::string(1, shape) +
         FuzzText(MessageSeed<v1::WorkerHello>(kHello)) +
         FuzzText(MessageSeed<v1::WorkerReady>(model)) + steps;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const auto worker = [](const char* text) {
    return "\x02" + FuzzText(MessageSeed<v1::WorkerMessage>(text));
  };
  const auto server = [](const char* text) {
    return "\x01" + FuzzText(MessageSeed<v1::ServerMessage>(text));
  };
  // With the epoch, from the backup; and when the primary's link breaks.
  const auto replica = [](char what, const char* text) {
    return what + FuzzText(MessageSeed<v1::ServerMessage>(text));
  };
  const std::string push = worker(
      "push_done { samples: 10 blocks: 2 loss: 0.5 seconds { compute: 0.1 } "
      "push_bytes: 40 }");
  const std::string others =
      worker("gradient_ready { iteration: 1 samples: 10 }") +
      worker("abandoned { iteration: 1 }") +
      worker("evaluated { snapshot: 1 accuracy: 0.5 loss: nan }") +
      worker("evaluated { snapshot: 2 metrics { key: 'top5' value: 1 } }") +
      worker("heartbeat {}") +
      worker(
          "log_told { question: 1 lines { message: 'x' cut: true "
          "time { seconds: -1 } fields { key: 'a' value: '1' } } }") +
      server("run: 77 done { sequence: 2 fence { iteration: 1 blocks: 2 } }") +
      server("run: 77 checkpoint_written { snapshot: 1 file: 'x' }") +
      server("heartbeat {}");
  return {Seed('\0', kModel, push + push + push + push),
          Seed('\1', kModel, others + push + worker("leaving {}")),
          Seed('\x0a', kModel, push + others),
          Seed('\3', kModel, worker("failed { code: 3 message: 'no' }")),
          Seed('\x10', kModel,
               push + replica('\x19', "run: 77 backup {}") +
                   replica('\x09', "run: 77 backup {}") + push +
                   replica('\x29', "heartbeat {}") +
                   replica('\x19', "run: 77 promoted { sequence: 2 }") + push +
                   worker("shard_filled { epoch: 3 }") + push),
          Seed('\0', "train_samples: 1 tensors { name: 'x' size: 1 }",
               server("run: 77 failed { code: 9 }"))};
}

void FuzzOne(absl::string_view input) {
  static const bool quiet = (spdlog::set_level(spdlog::level::off), true);
  CHECK(quiet);
  FuzzInput fuzz(input);
  FuzzedFleet fleet(fuzz.Byte());
  Greet(fleet.fleet(), fuzz.Text());
  if (const auto ready = ParseMessage<v1::WorkerReady>(fuzz.Text())) {
    fleet.Begin(*ready);
  }
  while (!fuzz.empty()) fleet.Step(fuzz);
  fleet.Look();
}

}  // namespace paceline
