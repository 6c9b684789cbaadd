#ifndef PACELINE_TESTS_GPU_QUEUED_BACKEND_H_
#define PACELINE_TESTS_GPU_QUEUED_BACKEND_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>

#include "common/rng.h"
#include "gpu/cpu/cpu_backend.h"
#include "tests/gpu/wrapped_backend.h"

namespace paceline {

// The CPU's arithmetic behind a device's manners, for tests of what uses a
// backend: the host does not see its memory, and what a lane was given runs at
// any time that the marks allow, drawn from a seed. Steps are remembered on
// their second run and repeated from the third on. What a device would not
// allow ends the process: copies or marks within a step but between its
// operations, and waiting for what cannot come.
class QueuedBackend : public WrappedBackend {
 public:
  struct Manners {
    uint64_t seed = 0;
    // What it gives in all; then RESOURCE_EXHAUSTED.
    int64_t floats = std::numeric_limits<int64_t>::max();
    // After so many computations each one comes to `failure`, which the host is
    // told when it waits.
    int64_t computations = std::numeric_limits<int64_t>::max();
    absl::Status failure = absl::InternalError("the device is lost");
    bool remembers = true;
  };

  explicit QueuedBackend(const Manners& manners)
      : manners_(manners), rng_(manners.seed), cpu_(/*threads=*/1) {}
  explicit QueuedBackend(uint64_t seed)
      : QueuedBackend(Manners{.seed = seed}) {}
  ~QueuedBackend() override;

  // How often a step was repeated from memory.
  int repeated() const { return repeated_; }

  absl::string_view name() const override { return "queued"; }
  bool host_visible() const override { return false; }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size) override;
  absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(int64_t size) override;
  void Upload(Lane lane, absl::Span<const float> from, DeviceSpan to) override;
  void Download(Lane lane, DeviceView from, absl::Span<float> to) override;
  absl::StatusOr<std::unique_ptr<Mark>> MakeMark() override;
  void Set(Mark& mark, Lane lane) override;
  void Follow(Lane lane, const Mark& mark) override;
  absl::Status Await(const Mark& mark) override;
  absl::Status Synchronize() override;
  std::unique_ptr<RepeatedStep> MakeRepeatedStep() override;

 private:
  class Step;
  struct CountedMark;

  // Runs when it is at the head of its lane and `ready` says so.
  struct Operation {
    std::function<bool()> ready;  // Null: at once.
    std::function<void()> run;
  };

  void Operate(const Work& work, std::function<void(Backend&)> run) override;
  void Compute(std::function<void()> run);
  void Give(Lane lane, Operation operation);
  // Runs the head of one lane, if there is one that may run.
  bool RunOne();
  // Runs as much as the seed says.
  void RunSome();
  bool Idle() const;

  // The first error since the host was told.
  absl::Status TakeStatus();

  Manners manners_;  // What is left of it.
  absl::Status status_;
  Rng rng_;
  CpuBackend cpu_;
  std::array<std::deque<Operation>, 3> lanes_;
  Step* recording_ = nullptr;
  int repeated_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_QUEUED_BACKEND_H_
