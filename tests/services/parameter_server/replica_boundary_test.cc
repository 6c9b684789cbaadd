#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// A shard's primary or its backup dies at every message boundary of scripted
// iterations, and a worker at every step before: what was acknowledged is in
// the weights once, whatever was repeated.

namespace paceline {
namespace {

constexpr uint32_t kPushedBlocks = 2;

struct Step {
  enum What : uint8_t { kPush, kClose, kSnapshot } what = kPush;
  uint64_t worker = 0;  // Its incarnation.
  int64_t iteration = 0;
  uint32_t block = 0;
  uint64_t round = 0;  // 0: immediate.
};
constexpr auto kPush = Step::kPush;

// Two workers, two iterations each, whose blocks come one between the other.
struct Script {
  const char* name;
  std::vector<Step> steps;
};
const Script kScripts[] = {
    {"immediate",
     {{kPush, 1, 1, 10},
      {kPush, 2, 1, 10},
      {kPush, 1, 1, 11},
      {Step::kSnapshot},
      {kPush, 1, 2, 10},
      {kPush, 2, 1, 11},
      {kPush, 2, 2, 11},
      {kPush, 1, 2, 11},
      {kPush, 2, 2, 10}}},
    {"rounds",
     {{kPush, 1, 1, 10, 1},
      {kPush, 2, 1, 11, 1},
      {kPush, 2, 1, 10, 1},
      {kPush, 1, 1, 11, 1},
      {.what = Step::kClose, .round = 1},
      {kPush, 1, 2, 10, 2},
      {kPush, 1, 2, 11, 2},
      {kPush, 2, 2, 10, 2},
      {kPush, 2, 2, 11, 2},
      {.what = Step::kClose, .round = 2}}},
    {"groups",
     {{kPush, 1, 1, 10, 1},
      {kPush, 2, 1, 10, 2},
      {kPush, 2, 1, 11, 2},
      {.what = Step::kClose, .round = 2},
      {kPush, 2, 2, 10},  // Late, so applied by itself.
      {kPush, 1, 1, 11, 1},
      {kPush, 2, 2, 11},
      {.what = Step::kClose, .round = 1},
      {Step::kSnapshot},
      {kPush, 1, 2, 10, 3},
      {kPush, 1, 2, 11, 3},
      {.what = Step::kClose, .round = 3}}},
};

// When who dies: before that step of the script, when so many entries of those
// that were on their way have reached the backup, and the primary knows of so
// many of these.
struct Moment {
  size_t step = 0;
  size_t delivered = 0;
  size_t known = 0;
};

// A shard, those who push to it and the coordinator, who lose one process.
class Course {
 public:
  // The backup begins to be filled before step `fill`. Worker 2 dies before
  // step `worker_dies`, if that is one.
  Course(const Script& script, size_t fill, size_t worker_dies)
      : script_(script), fill_(fill), worker_dies_(worker_dies) {
    ShardConfig config = SmallConfig(kPushedBlocks);
    server_ = MakeShard(config);
    config.backup = true;
    config_ = config;
  }

  void RunUntil(size_t step) {
    while (true) {
      if (next_ == fill_ && following_ == 0 && life_ == 0) Fill();
      if (next_ == step) return;
      if (next_ == worker_dies_) WorkerDies();
      Perform(script_.steps[next_++]);
    }
  }
  void RunToTheEnd() {
    RunUntil(script_.steps.size());
    if (worker_dies_ < script_.steps.size()) AwaitAll();
  }

  // False if so much was not on its way.
  bool Deliver(size_t delivered, size_t known) {
    for (size_t i = 0; i < delivered; ++i) {
      if (!DeliverOne()) return false;
      if (i < known) Acknowledge();
    }
    return true;
  }

  // False: the backup has not got everything, and would not be promoted.
  bool PrimaryDies() {
    if (!complete_) return false;
    ++life_;  // What the one before says is heard no more.
    server_ = std::move(backup_);
    following_ = 0;
    to_acknowledge_.clear();
    const auto sequence = server_->BecomePrimary();
    EXPECT_TRUE(sequence.ok()) << sequence.status();
    for (const Command& command : commands_) {
      // A fence says the same again to whoever has not heard it.
      if (command.sequence > *sequence || command.fence) Carry(command);
    }
    for (auto& [worker, sent] : workers_) {
      if (sent.acknowledged || sent.dead) continue;
      for (const Step& push : sent.pushes) PushOne(push);
    }
    return true;
  }
  // Another one is filled at once. False if there was none.
  bool BackupDies() {
    if (following_ == 0) return false;
    server_->log().Suspend(following_);
    server_->log().End(/*hold=*/false);
    complete_ = false;
    Fill();
    return true;
  }

  // Every push is in every block once, but for what a worker that died had on
  // its way: of that so many blocks have something as the server said.
  void ExpectAllOnce(JobShard& shard) const {
    std::map<size_t, uint32_t> blocks_with;
    for (const PulledBlock& block : PullNow(shard).blocks) {
      for (size_t tag = 0; tag < kTestBlockSize; ++tag) {
        const float times = block.state->weights()[tag];
        ASSERT_TRUE(times == 0 || times == 1) << "in it " << times << " times";
        if (times == 1) ++blocks_with[tag];
      }
    }
    for (const auto& [worker, sent] : workers_) {
      for (int64_t iteration = 1; iteration <= sent.iteration; ++iteration) {
        uint32_t blocks = kPushedBlocks;
        if (sent.dead && iteration == sent.iteration) {
          ASSERT_TRUE(fenced_.has_value());
          blocks = fenced_->iteration == iteration ? fenced_->blocks_taken : 0;
        }
        EXPECT_EQ(blocks_with[Tag(worker, iteration)], blocks)
            << "worker " << worker << ", iteration " << iteration;
      }
    }
  }
  // As one that takes over would have it now.
  void ExpectAllOnceInTheBackup() {
    AwaitAll();
    ASSERT_TRUE(complete_);
    ASSERT_TRUE(backup_->BecomePrimary().ok());
    ExpectAllOnce(*backup_);
  }
  JobShard& server() { return *server_; }

 private:
  struct Sent {
    int64_t iteration = 0;
    std::vector<Step> pushes = {};  // Of that iteration.
    bool acknowledged = true;
    bool dead = false;
  };
  struct Command {
    uint64_t sequence = 0;
    Step step = {};
    bool fence = false;
  };

  static size_t Tag(uint64_t worker, int64_t iteration) {
    return (worker - 1) * 2 + static_cast<size_t>(iteration) - 1;
  }

  void Fill() {
    backup_ = *JobShard::Create(config_);
    ASSERT_TRUE(backup_->BeginReplay([](const absl::Status&) {}).ok());
    const auto following = server_->Replicate(sequence_, false, [] {});
    ASSERT_TRUE(following.ok()) << following.status();
    following_ = *following;
    filling_ = true;
    filled_ = 0;
    delivered_ = 0;
    to_acknowledge_.clear();
  }
  bool DeliverOne() {
    if (following_ == 0) return false;
    auto entry = server_->log().Take(following_);
    while (filling_ && !entry.has_value()) {
      filling_ = server_->FillFurther(following_, filled_++);
      entry = server_->log().Take(following_);
    }
    if (!entry.has_value()) return false;
    EXPECT_TRUE(backup_->Replay(entry->entry).ok());
    ++delivered_;
    if (entry->acknowledge) to_acknowledge_.push_back(delivered_);
    return true;
  }
  void Acknowledge() {
    for (const uint64_t entries : to_acknowledge_) {
      const auto complete = server_->log().Acknowledged(following_, entries);
      ASSERT_TRUE(complete.ok()) << complete.status();
      complete_ |= *complete;
    }
    to_acknowledge_.clear();
  }
  void AwaitAll() {
    while (DeliverOne()) {
    }
    Acknowledge();
    for (const auto& [worker, sent] : workers_) {
      EXPECT_TRUE(sent.acknowledged || sent.dead ||
                  sent.pushes.size() < kPushedBlocks)
          << "nothing is on its way, and worker " << worker << " waits";
    }
  }

  void Perform(const Step& step) {
    if (step.what != kPush) {
      // The coordinator closes rounds whose pushes it has been told of.
      AwaitAll();
      commands_.push_back({.sequence = ++sequence_, .step = step});
      return Carry(commands_.back());
    }
    Sent& sent = workers_[step.worker];
    if (sent.dead) return;
    if (step.iteration != sent.iteration) {
      if (!sent.acknowledged) AwaitAll();
      sent = {.iteration = step.iteration, .acknowledged = false};
    }
    sent.pushes.push_back(step);
    PushOne(step);
  }
  void PushOne(const Step& step) {
    PushBlock push =
        step.round != 0
            ? RoundPush(step.worker, step.iteration, step.block, step.round)
            : PlainPush(step.worker, step.iteration, step.block);
    std::vector<float> gradient(kTestBlockSize, 0);
    gradient[Tag(step.worker, step.iteration)] = -1;
    const auto outcome = server_->Push(
        push, Payload::OfFloats(gradient.data(), gradient.size()), DType::kF32);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome->complete) return;
    server_->log().WhenHeld([this, life = life_, worker = step.worker] {
      if (life == life_) workers_[worker].acknowledged = true;
    });
  }
  void WorkerDies() {
    Sent& sent = workers_[2];
    sent.dead = true;
    commands_.push_back({.sequence = ++sequence_, .fence = true});
    Carry(commands_.back());
  }
  void Carry(const Command& command) {
    CommandEntry done = {.sequence = command.sequence, .what = {}};
    if (command.fence) {
      const auto fenced = server_->Fence(2);
      ASSERT_TRUE(fenced.ok()) << fenced.status();
      done.what = FenceDone{2, *fenced};
      server_->LogCommand(done);
      server_->log().WhenHeld([this, life = life_, answer = *fenced] {
        if (life == life_ && !fenced_.has_value()) fenced_ = answer;
      });
      return;
    }
    if (command.step.what == Step::kSnapshot) {
      ASSERT_TRUE(server_->Snapshot(command.sequence).ok());
      done.what = SnapshotDone{command.sequence};
    } else {
      const int64_t closing = static_cast<int64_t>(command.sequence);
      ASSERT_TRUE(server_->Close(closing, {command.step.round}, 1).ok());
      done.what = ClosingDone{closing};
    }
    server_->LogCommand(done);
  }

  const Script& script_;
  const size_t fill_;
  const size_t worker_dies_;
  ShardConfig config_;  // The backup's.
  std::unique_ptr<JobShard> server_;
  std::unique_ptr<JobShard> backup_;
  uint64_t following_ = 0;
  bool filling_ = false;
  uint32_t filled_ = 0;  // Blocks.
  uint64_t delivered_ = 0;
  std::vector<uint64_t> to_acknowledge_;
  bool complete_ = false;
  int life_ = 0;
  size_t next_ = 0;
  uint64_t sequence_ = 0;
  std::vector<Command> commands_;
  std::map<uint64_t, Sent> workers_;
  std::optional<FencedPush> fenced_;
};

class ReplicaBoundaryTest : public ::testing::TestWithParam<Script> {
 protected:
  // `die` loses a process of a course that has come to a moment, and goes on
  // to the end; false if there is none to lose. Gives how many were lost.
  template <class Die>
  int AtEveryMoment(size_t fill, size_t worker_dies, Die die) {
    int deaths = 0;
    for (Moment at; at.step <= GetParam().steps.size(); ++at.step) {
      for (at.delivered = 0; at.delivered < 100; ++at.delivered) {
        bool on_its_way = false;
        for (at.known = 0; at.known <= at.delivered; ++at.known) {
          SCOPED_TRACE(absl::StrCat("filled from step ", fill, ", dies at ",
                                    at.step, " with ", at.delivered,
                                    " entries of which ", at.known,
                                    " are known, a worker at ", worker_dies));
          Course course(GetParam(), fill, worker_dies);
          course.RunUntil(at.step);
          on_its_way = course.Deliver(at.delivered, at.known);
          if (!on_its_way) break;
          deaths += die(course) ? 1 : 0;
          if (HasFailure()) return deaths;
        }
        if (!on_its_way) break;
      }
    }
    return deaths;
  }
  size_t never() const { return GetParam().steps.size() + 1; }
};

bool LosePrimary(Course& course) {
  if (!course.PrimaryDies()) return false;
  course.RunToTheEnd();
  course.ExpectAllOnce(course.server());
  return true;
}

bool LoseBackup(Course& course) {
  if (!course.BackupDies()) return false;
  course.RunToTheEnd();
  course.ExpectAllOnce(course.server());
  course.ExpectAllOnceInTheBackup();
  return true;
}

TEST_P(ReplicaBoundaryTest, APrimaryDies) {
  int deaths = 0;
  for (size_t fill = 0; fill < GetParam().steps.size(); ++fill) {
    deaths += AtEveryMoment(fill, never(), LosePrimary);
  }
  EXPECT_GT(deaths, 100);
}

TEST_P(ReplicaBoundaryTest, ABackupDies) {
  int deaths = 0;
  for (size_t fill = 0; fill < GetParam().steps.size(); ++fill) {
    deaths += AtEveryMoment(fill, never(), LoseBackup);
  }
  EXPECT_GT(deaths, 100);
}

TEST_P(ReplicaBoundaryTest, APrimaryDiesBesideAWorker) {
  int deaths = 0;
  for (size_t worker = 1; worker < GetParam().steps.size(); ++worker) {
    deaths += AtEveryMoment(0, worker, LosePrimary);
  }
  EXPECT_GT(deaths, 100);
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ReplicaBoundaryTest,
                         ::testing::ValuesIn(kScripts),
                         [](const auto& param_info) {
                           return std::string(param_info.param.name);
                         });

}  // namespace
}  // namespace paceline
