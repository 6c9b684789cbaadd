// Many threads push, join, leave and answer fences at once, under every
// paradigm. The books must be exact: every grant answered once, every sample
// counted once, versions and closings without a gap, one end.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/coordinator/engine.h"
#include "services/coordinator/policy/policy_spec.h"
#include "tests/services/coordinator/ledger_sink.h"

namespace paceline {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr int kServers = 2;
constexpr uint32_t kBlocks = 3;  // Of each server.
constexpr uint32_t kThreads = 4;
constexpr uint32_t kLives = 5;  // Of each thread's worker.

SyncOptions Options() {
  SyncOptions options;
  options.train_samples = 3001;
  options.epochs = 3;
  options.batch_size = 8;
  options.servers = kServers;
  options.lease = absl::Hours(1);
  options.eval_every = 300;
  return options;
}

// How far a lost worker's last push had come.
struct LastPush {
  Iteration iteration = 0;
  uint32_t samples = 0;
  uint32_t blocks_taken[kServers] = {};
};

// A job with worker and server threads around one engine.
class Cluster {
 public:
  explicit Cluster(const std::string& policy)
      : sink_(kThreads * kLives, Options()),
        engine_(&Clock::Real(), Options(), *MakePolicy(policy), &sink_) {}

  void Run() {
    std::vector<WorkerId> first;
    for (uint32_t t = 0; t < kThreads; ++t) first.push_back(IdOf(t, 0));
    std::thread servers([this] { AnswerFences(); });
    std::thread watcher([this] { Watch(); });
    engine_.Start(first);
    std::vector<std::thread> workers;
    for (uint32_t t = 0; t < kThreads; ++t) {
      workers.emplace_back([this, t] { RunLives(t); });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_TRUE(sink_.AwaitFinished(kLong));
    over_ = true;
    servers.join();
    watcher.join();
  }

  LedgerSink& sink() { return sink_; }
  Engine& engine() { return engine_; }
  int losses() const { return losses_; }

 private:
  static WorkerId IdOf(uint32_t thread, uint32_t life) {
    return WorkerId{1 + life * kThreads + thread};
  }

  void RunLives(uint32_t thread) {
    Rng rng(thread);
    for (uint32_t life = 0; life < kLives; ++life) {
      const WorkerId worker = IdOf(thread, life);
      if (life > 0) engine_.Join(worker);
      // The last one stays, so that the job can end.
      if (!RunWorker(worker, life + 1 < kLives, rng)) return;
    }
  }

  // False when the job has ended.
  bool RunWorker(WorkerId worker, bool mortal, Rng& rng) {
    while (true) {
      const auto grant = sink_.GrantsOf(worker).Take(kLong);
      if (!grant.ok()) {
        EXPECT_TRUE(absl::IsCancelled(grant.status())) << grant.status();
        return false;
      }
      engine_.Heard(worker);
      const uint32_t size = grant->range.size();
      // Now and then the tail of the range is not used.
      const uint32_t used = size > 1 && rng.Chance(1, 7) ? size - 1 : size;
      if (mortal && rng.Chance(1, 10)) {
        Die(worker, grant->iteration, used, rng);
        return true;
      }
      const absl::Status status = engine_.PushDone(
          worker, {grant->iteration, used, kServers * kBlocks});
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  void Die(WorkerId worker, Iteration iteration, uint32_t used, Rng& rng) {
    LastPush last{iteration, used, {}};
    // All of it had arrived, a part or nothing.
    for (uint32_t& taken : last.blocks_taken) {
      taken = rng.Chance(2, 3) ? kBlocks : 0;
    }
    {
      absl::MutexLock lock(&mu_);
      last_pushes_[worker] = last;
    }
    ++losses_;
    engine_.Leave(worker, LossReason::kStreamBroken);
  }

  void AnswerFences() {
    while (true) {
      const auto worker = sink_.fences().Take(kLong);
      if (!worker.ok()) return;
      const LastPush last = [&] {
        absl::MutexLock lock(&mu_);
        return last_pushes_.at(*worker);
      }();
      for (int server = 0; server < kServers; ++server) {
        const uint32_t taken = last.blocks_taken[server];
        engine_.FenceAnswered(
            *worker, {server, taken > 0 ? last.iteration : 0, taken, kBlocks,
                      taken > 0 ? last.samples : 0});
      }
    }
  }

  // Reads while the others write, as the progress reports do.
  void Watch() {
    Version version = 0;
    int64_t samples = 0;
    while (!over_) {
      const EngineView view = engine_.View();
      EXPECT_GE(view.version, version);
      EXPECT_GE(view.samples_counted, samples);
      version = view.version;
      samples = view.samples_counted;
      std::this_thread::yield();
    }
  }

  LedgerSink sink_;
  std::atomic<bool> over_ = false;
  std::atomic<int> losses_ = 0;
  absl::Mutex mu_;
  std::map<WorkerId, LastPush> last_pushes_ ABSL_GUARDED_BY(mu_);
  Engine engine_;
};

class EngineThreadsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(EngineThreadsTest, TheBooksAreExact) {
  Cluster cluster(GetParam());
  cluster.Run();
  const LedgerSink& sink = cluster.sink();
  EXPECT_EQ(sink.finishes(), 1);
  EXPECT_FALSE(sink.any_open());
  EXPECT_EQ(sink.grants(), sink.counted() + sink.returned());
  EXPECT_GT(cluster.losses(), 0);
  for (const int uses : sink.uses()) ASSERT_EQ(uses, 1);
  const EngineView view = cluster.engine().View();
  EXPECT_EQ(view.version, sink.version());
  EXPECT_EQ(view.samples_counted, sink.samples());
  EXPECT_EQ(view.samples_counted, view.samples_total);
  EXPECT_TRUE(view.finished);
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, EngineThreadsTest,
    ::testing::Values("bsp", "asp", "ssp:s=3", "dssp:lower=3,upper=15",
                      "dssp:lower=1,upper=4,mode=bounded,fastest=within:2"));

}  // namespace
}  // namespace paceline
