#include "tests/gpu/queued_backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

// Sets are counted: a follower waits for those before it, not for later ones.
struct QueuedBackend::CountedMark : Mark {
  int64_t given = 0;
  std::shared_ptr<int64_t> passed = std::make_shared<int64_t>(0);
};

class QueuedBackend::Step : public RepeatedStep {
 public:
  explicit Step(QueuedBackend* backend) : backend_(*backend) {}

  void Run(const std::function<void()>& queue) override {
    repeated_ = false;
    if (++runs_ == 1 || !backend_.manners_.remembers) return queue();
    // Now and then it is remembered anew, and now and then in vain.
    if (runs_ == 2 || backend_.rng_.Chance(1, 8)) {
      Record(queue);
      if (backend_.rng_.Chance(1, 4)) Record(queue);
    } else {
      repeated_ = true;
      ++backend_.repeated_;
    }
    for (const Piece& piece : pieces_) {
      for (const auto& run : piece.operations) backend_.Compute(run);
      if (piece.between != nullptr) piece.between();
    }
  }

  void Between(std::function<void()> between) override {
    if (backend_.recording_ == nullptr) return between();
    CHECK(backend_.recording_ == this);
    pieces_.back().between = std::move(between);
    pieces_.emplace_back();
  }

  bool repeated() const override { return repeated_; }
  absl::Status obstacle() const override {
    return backend_.manners_.remembers || runs_ < 2
               ? absl::OkStatus()
               : absl::InternalError("it does not remember");
  }

  void Remember(std::function<void()> run) {
    pieces_.back().operations.push_back(std::move(run));
  }

 private:
  struct Piece {
    std::vector<std::function<void()>> operations;
    std::function<void()> between;
  };

  void Record(const std::function<void()>& queue) {
    pieces_.clear();
    pieces_.emplace_back();
    backend_.recording_ = this;
    queue();
    backend_.recording_ = nullptr;
  }

  QueuedBackend& backend_;
  int runs_ = 0;
  bool repeated_ = false;
  std::vector<Piece> pieces_;
};

QueuedBackend::~QueuedBackend() { Synchronize().IgnoreError(); }

absl::StatusOr<std::unique_ptr<Buffer>> QueuedBackend::Allocate(int64_t size) {
  CHECK(recording_ == nullptr);
  manners_.floats -= size;
  if (manners_.floats < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " floats"));
  }
  return cpu_.Allocate(size);
}

absl::StatusOr<std::unique_ptr<Buffer>> QueuedBackend::AllocateHost(
    int64_t size) {
  return cpu_.Allocate(size);
}

void QueuedBackend::Upload(Lane lane, absl::Span<const float> from,
                           DeviceSpan to) {
  Give(lane, {nullptr, [=, this] { cpu_.Upload(lane, from, to); }});
}

void QueuedBackend::Download(Lane lane, DeviceView from, absl::Span<float> to) {
  Give(lane, {nullptr, [=, this] { cpu_.Download(lane, from, to); }});
}

absl::StatusOr<std::unique_ptr<Mark>> QueuedBackend::MakeMark() {
  return std::make_unique<CountedMark>();
}

void QueuedBackend::Set(Mark& mark, Lane lane) {
  auto& counted = static_cast<CountedMark&>(mark);
  Give(lane, {nullptr, [passed = counted.passed, count = ++counted.given] {
                *passed = count;
              }});
}

void QueuedBackend::Follow(Lane lane, const Mark& mark) {
  const auto& counted = static_cast<const CountedMark&>(mark);
  Give(lane, {[passed = counted.passed, count = counted.given] {
                return *passed >= count;
              },
              [] {}});
}

absl::Status QueuedBackend::Await(const Mark& mark) {
  const auto& counted = static_cast<const CountedMark&>(mark);
  while (*counted.passed < counted.given) CHECK(RunOne());
  return TakeStatus();
}

absl::Status QueuedBackend::Synchronize() {
  while (!Idle()) CHECK(RunOne());
  return TakeStatus();
}

absl::Status QueuedBackend::TakeStatus() {
  return std::exchange(status_, absl::OkStatus());
}

std::unique_ptr<RepeatedStep> QueuedBackend::MakeRepeatedStep() {
  return std::make_unique<Step>(this);
}

void QueuedBackend::Operate(const Work& /*work*/,
                            std::function<void(Backend&)> run) {
  Compute([this, run = std::move(run)] { run(cpu_); });
}

void QueuedBackend::Compute(std::function<void()> run) {
  if (recording_ != nullptr) return recording_->Remember(std::move(run));
  Give(Lane::kCompute, {nullptr, [this, run = std::move(run)] {
                          if (--manners_.computations >= 0) return run();
                          status_.Update(manners_.failure);
                        }});
}

void QueuedBackend::Give(Lane lane, Operation operation) {
  CHECK(recording_ == nullptr);
  lanes_[static_cast<size_t>(lane)].push_back(std::move(operation));
  RunSome();
}

bool QueuedBackend::RunOne() {
  const size_t first = rng_.Below(lanes_.size());
  for (size_t i = 0; i < lanes_.size(); ++i) {
    std::deque<Operation>& lane = lanes_[(first + i) % lanes_.size()];
    if (lane.empty()) continue;
    if (lane.front().ready != nullptr && !lane.front().ready()) continue;
    const std::function<void()> run = std::move(lane.front().run);
    lane.pop_front();
    run();
    return true;
  }
  return false;
}

void QueuedBackend::RunSome() {
  // Often nothing, so that lanes get far behind.
  if (!rng_.Chance(1, 4)) return;
  for (uint64_t left = rng_.Below(8); left > 0 && RunOne(); --left) {
  }
}

bool QueuedBackend::Idle() const {
  for (const auto& lane : lanes_) {
    if (!lane.empty()) return false;
  }
  return true;
}

}  // namespace paceline
