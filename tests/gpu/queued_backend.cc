#include "tests/gpu/queued_backend.h"

#include <utility>

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

void QueuedBackend::Fill(float value, DeviceSpan y) {
  Compute([=, this] { cpu_.Fill(value, y); });
}

void QueuedBackend::Copy(DeviceView x, DeviceSpan y) {
  Compute([=, this] { cpu_.Copy(x, y); });
}

void QueuedBackend::Axpy(float alpha, DeviceView x, DeviceSpan y) {
  Compute([=, this] { cpu_.Axpy(alpha, x, y); });
}

void QueuedBackend::Scale(float alpha, DeviceSpan y) {
  Compute([=, this] { cpu_.Scale(alpha, y); });
}

void QueuedBackend::Pack(DType dtype, DeviceView x, DeviceSpan packed) {
  Compute([=, this] { cpu_.Pack(dtype, x, packed); });
}

void QueuedBackend::Gemm(const GemmShape& shape, float alpha, DeviceView a,
                         DeviceView b, float beta, DeviceSpan c) {
  Compute([=, this] { cpu_.Gemm(shape, alpha, a, b, beta, c); });
}

void QueuedBackend::AddBias(const BiasShape& shape, DeviceView bias,
                            DeviceSpan y) {
  Compute([=, this] { cpu_.AddBias(shape, bias, y); });
}

void QueuedBackend::ReduceBias(const BiasShape& shape, DeviceView dy,
                               float beta, DeviceSpan dbias) {
  Compute([=, this] { cpu_.ReduceBias(shape, dy, beta, dbias); });
}

void QueuedBackend::ConvForward(const ConvShape& shape, DeviceView x,
                                DeviceView weights, DeviceView bias,
                                DeviceSpan y) {
  Compute([=, this] { cpu_.ConvForward(shape, x, weights, bias, y); });
}

void QueuedBackend::ConvBackwardWeights(const ConvShape& shape, DeviceView x,
                                        DeviceView dy, float beta,
                                        DeviceSpan dweights) {
  Compute(
      [=, this] { cpu_.ConvBackwardWeights(shape, x, dy, beta, dweights); });
}

void QueuedBackend::ConvBackwardData(const ConvShape& shape, DeviceView weights,
                                     DeviceView dy, DeviceSpan dx) {
  Compute([=, this] { cpu_.ConvBackwardData(shape, weights, dy, dx); });
}

void QueuedBackend::MaxPoolForward(const PoolShape& shape, DeviceView x,
                                   DeviceSpan y) {
  Compute([=, this] { cpu_.MaxPoolForward(shape, x, y); });
}

void QueuedBackend::MaxPoolBackward(const PoolShape& shape, DeviceView x,
                                    DeviceView dy, DeviceSpan dx) {
  Compute([=, this] { cpu_.MaxPoolBackward(shape, x, dy, dx); });
}

void QueuedBackend::AvgPoolForward(const PoolShape& shape, DeviceView x,
                                   DeviceSpan y) {
  Compute([=, this] { cpu_.AvgPoolForward(shape, x, y); });
}

void QueuedBackend::AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                                    DeviceSpan dx) {
  Compute([=, this] { cpu_.AvgPoolBackward(shape, dy, dx); });
}

void QueuedBackend::ReluForward(DeviceView x, DeviceSpan y) {
  Compute([=, this] { cpu_.ReluForward(x, y); });
}

void QueuedBackend::ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) {
  Compute([=, this] { cpu_.ReluBackward(y, dy, dx); });
}

void QueuedBackend::BatchNormForward(const BatchNormShape& shape, DeviceView x,
                                     DeviceView scale, DeviceView shift,
                                     DeviceSpan mean, DeviceSpan variance,
                                     DeviceSpan y) {
  Compute([=, this] {
    cpu_.BatchNormForward(shape, x, scale, shift, mean, variance, y);
  });
}

void QueuedBackend::BatchNormInference(const BatchNormShape& shape,
                                       DeviceView x, DeviceView scale,
                                       DeviceView shift, DeviceView mean,
                                       DeviceView mean_square, DeviceSpan y) {
  Compute([=, this] {
    cpu_.BatchNormInference(shape, x, scale, shift, mean, mean_square, y);
  });
}

void QueuedBackend::BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                      DeviceView scale, DeviceView shift,
                                      DeviceView mean, DeviceView variance,
                                      DeviceView dy, float beta,
                                      DeviceSpan dscale, DeviceSpan dshift,
                                      DeviceSpan dx) {
  Compute([=, this] {
    cpu_.BatchNormBackward(shape, x, scale, shift, mean, variance, dy, beta,
                           dscale, dshift, dx);
  });
}

void QueuedBackend::BatchNormMoments(float weight, DeviceView mean,
                                     DeviceView variance, float beta,
                                     DeviceSpan mean_sum,
                                     DeviceSpan mean_square_sum) {
  Compute([=, this] {
    cpu_.BatchNormMoments(weight, mean, variance, beta, mean_sum,
                          mean_square_sum);
  });
}

void QueuedBackend::SwapLeading(int64_t first, int64_t second, int64_t inner,
                                DeviceView x, DeviceSpan y) {
  Compute([=, this] { cpu_.SwapLeading(first, second, inner, x, y); });
}

void QueuedBackend::AddShortcut(const ShortcutShape& shape, DeviceView x,
                                DeviceSpan y) {
  Compute([=, this] { cpu_.AddShortcut(shape, x, y); });
}

void QueuedBackend::AddShortcutGradient(const ShortcutShape& shape,
                                        DeviceView dy, DeviceSpan dx) {
  Compute([=, this] { cpu_.AddShortcutGradient(shape, dy, dx); });
}

void QueuedBackend::SoftmaxCrossEntropy(const LossShape& shape,
                                        DeviceView logits, DeviceView labels,
                                        float scale, DeviceSpan dlogits,
                                        DeviceSpan loss, DeviceSpan correct) {
  Compute([=, this] {
    cpu_.SoftmaxCrossEntropy(shape, logits, labels, scale, dlogits, loss,
                             correct);
  });
}

void QueuedBackend::ApplySgd(const SgdStep& step, DeviceView gradient,
                             DeviceSpan velocity, DeviceSpan weights) {
  Compute([=, this] { cpu_.ApplySgd(step, gradient, velocity, weights); });
}

}  // namespace paceline
