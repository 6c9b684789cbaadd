// What workers and servers report of their iterations, in any order and with
// any numbers: the decisions must hold whatever a peer says.

#include "services/coordinator/sync/core/sync_core.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

constexpr const char* kPolicies[] = {"bsp",
                                     "bsp:steal=true,fill=true",
                                     "asp",
                                     "ssp:s=1",
                                     "dssp:lower=1,upper=3",
                                     "cgp",
                                     "saps:s=1",
                                     "saps:mode=drop,s=1",
                                     "ksync:k=2",
                                     "kasync:k=2",
                                     "backup:b=1",
                                     "psp:beta=1,s=1",
                                     "elastic:r=2",
                                     "abs:pieces=4",
                                     "syncswitch:at=0.3,straggler=leave",
                                     "kbatchsync:k=2"};

constexpr int kSteps = 120;

SyncOptions SmallOptions() {
  SyncOptions options;
  options.train_samples = 50;
  options.epochs = 2;
  options.batch_size = 8;
  options.servers = 2;
  options.eval_every = 20;
  return options;
}

// A number as a peer may send it: what fits the present state, near to it, or
// anything.
class Numbers {
 public:
  explicit Numbers(FuzzInput& fuzz) : fuzz_(fuzz) {}

  int64_t Near(int64_t value) {
    const uint8_t byte = fuzz_.Byte();
    if (byte < 200) return value;
    return byte < 250 ? value + byte % 5 - 2 : fuzz_.Number<int64_t>();
  }
  uint32_t Near32(uint32_t value) { return static_cast<uint32_t>(Near(value)); }

 private:
  FuzzInput& fuzz_;
};

class FuzzedCluster {
 public:
  FuzzedCluster(FuzzInput& fuzz, const char* policy)
      : fuzz_(fuzz),
        numbers_(fuzz),
        core_(SmallOptions(), *MakePolicy(policy)) {
    // Two of them have samples reserved.
    const std::vector<NewMember> workers = {
        {WorkerId{1}, {}}, {WorkerId{2}, {8, 0}}, {WorkerId{3}, {30, 4}}};
    core_.Start(now_, workers, outputs_);
    Take();
  }

  void Step() {
    const uint8_t what = fuzz_.Byte();
    const WorkerId worker{1 + what / 16u % 5u};
    now_ += absl::Milliseconds(fuzz_.Byte());
    switch (what % 16) {
      default:
        Push(worker);
        break;
      case 10:
        Expect(core_.GradientReady(now_, worker, numbers_.Near(open_[worker]),
                                   outputs_));
        break;
      case 11:
        Expect(core_.Abandoned(now_, worker, numbers_.Near(open_[worker]),
                               outputs_));
        break;
      case 12:
        core_.FenceAnswered(now_, worker, Answer(worker), outputs_);
        break;
      case 13:
        core_.Leave(now_, worker, LossReason::kStreamBroken, outputs_);
        break;
      case 14:
        core_.Join(now_, {WorkerId{next_worker_++}, {what / 16u, what % 8u}},
                   outputs_);
        break;
      case 15:
        now_ += absl::Seconds(1 + fuzz_.Byte() % 8);
        core_.Heard(now_, worker);
        break;
    }
    if (core_.NextDeadline() <= now_) core_.Tick(now_, outputs_);
    Take();
    // Whatever was said, no sample counts twice.
    CHECK(counted_ == core_.samples_counted());
    CHECK(core_.samples_counted() <= core_.samples_total());
  }

  bool finished() const { return core_.finished(); }

 private:
  static void Expect(const absl::Status& status) {
    ExpectCode(status, {absl::StatusCode::kNotFound,
                        absl::StatusCode::kFailedPrecondition,
                        absl::StatusCode::kInvalidArgument});
  }

  void Push(WorkerId worker) {
    PushReport report;
    report.iteration = numbers_.Near(open_[worker]);
    report.samples = numbers_.Near32(samples_[worker]);
    report.blocks = 2;
    report.blocks_refused = numbers_.Near32(0);
    report.discarded = fuzz_.Byte() > 240;
    Expect(core_.PushDone(now_, worker, report, outputs_));
  }

  FenceAnswer Answer(WorkerId worker) {
    FenceAnswer answer;
    answer.server = static_cast<int>(numbers_.Near(fuzz_.Byte() % 2));
    answer.iteration = numbers_.Near(open_[worker]);
    answer.blocks = numbers_.Near32(2);
    answer.blocks_taken = numbers_.Near32(fuzz_.Byte() % 3);
    answer.samples = numbers_.Near32(samples_[worker]);
    return answer;
  }

  void Take() {
    for (const Output& output : outputs_) {
      if (const auto* grant = std::get_if<Grant>(&output)) {
        open_[grant->worker] = grant->iteration;
        samples_[grant->worker] = grant->range.end - grant->range.begin;
      } else if (const auto* push = std::get_if<PushCounted>(&output)) {
        counted_ += push->samples;
      }
    }
    outputs_.clear();
  }

  FuzzInput& fuzz_;
  Numbers numbers_;
  SyncCore core_;
  std::vector<Output> outputs_;
  absl::Time now_ = absl::UnixEpoch();
  uint32_t next_worker_ = 4;
  std::map<WorkerId, int64_t> open_;
  std::map<WorkerId, uint32_t> samples_;
  int64_t counted_ = 0;
};

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (size_t policy = 0; policy < std::size(kPolicies); ++policy) {
    // Every worker asks and pushes in turn; in half of them one is lost.
    std::string seed(1, static_cast<char>(policy));
    for (int round = 0; round < 12; ++round) {
      for (const int worker : {0, 1, 2}) {
        seed += static_cast<char>(16 * worker + 10);
        seed += std::string("\x05\0", 2);
        seed += static_cast<char>(16 * worker);
        seed += std::string("\x05\0\0\0\0", 5);
      }
      if (round == 3 && policy % 2 == 0) seed += std::string("\x0d\x05", 2);
      if (round == 4) seed += std::string("\x0c\x05\0\0\0\0\x02\0\0", 9);
    }
    seeds.push_back(seed);
  }
  return seeds;
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  FuzzedCluster cluster(fuzz, kPolicies[fuzz.Byte() % std::size(kPolicies)]);
  for (int i = 0; i < kSteps && !fuzz.empty() && !cluster.finished(); ++i) {
    cluster.Step();
  }
}

}  // namespace paceline
