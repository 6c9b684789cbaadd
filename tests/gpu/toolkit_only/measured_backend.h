#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/gpu/wrapped_backend.h"

namespace paceline {

// What operations of one kind came to.
struct Cost {
  int calls = 0;
  double seconds = 0;
  double operations = 0;  // Multiplications and additions of matrix products.
  // That must at least be moved: what is read and written by every pass.
  double bytes = 0;
};

// Another backend, each of its operations waited for, timed and counted. Steps
// are not repeated from memory, so that all of them are seen.
class MeasuredBackend : public WrappedBackend {
 public:
  // `inner` outlives it.
  explicit MeasuredBackend(Backend* inner) : inner_(*inner) {}

  // By kind.
  const std::map<std::string, Cost>& costs() const { return costs_; }
  void Forget() { costs_.clear(); }

  absl::string_view name() const override { return inner_.name(); }
  bool host_visible() const override { return inner_.host_visible(); }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size) override {
    return inner_.Allocate(size);
  }
  absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(int64_t size) override {
    return inner_.AllocateHost(size);
  }
  void Upload(Lane lane, absl::Span<const float> from, DeviceSpan to) override {
    inner_.Upload(lane, from, to);
  }
  void Download(Lane lane, DeviceView from, absl::Span<float> to) override {
    inner_.Download(lane, from, to);
  }
  absl::StatusOr<std::unique_ptr<Mark>> MakeMark() override {
    return inner_.MakeMark();
  }
  void Set(Mark& mark, Lane lane) override { inner_.Set(mark, lane); }
  void Follow(Lane lane, const Mark& mark) override {
    inner_.Follow(lane, mark);
  }
  absl::Status Await(const Mark& mark) override { return inner_.Await(mark); }
  absl::Status Synchronize() override { return inner_.Synchronize(); }
  std::unique_ptr<RepeatedStep> MakeRepeatedStep() override;

 private:
  void Operate(const Work& work, std::function<void(Backend&)> run) override;

  Backend& inner_;
  std::map<std::string, Cost> costs_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_
