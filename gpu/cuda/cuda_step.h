#ifndef PACELINE_GPU_CUDA_CUDA_STEP_H_
#define PACELINE_GPU_CUDA_CUDA_STEP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_graph.h"
#include "gpu/lanes.h"

namespace paceline {

// A step as CUDA graphs: what lies between two calls of Between is one graph,
// launched at one stroke instead of a kernel at a time. The first runs are not
// captured: they load the kernels and let scratch memory grow, and a step that
// does not come again is not worth a capture. The next one is, as a whole, and
// then runs as all that follow. Where capturing fails the step is run call by
// call for good.
class CudaStep final : public RepeatedStep {
 public:
  // `backend` outlives the step.
  explicit CudaStep(CudaBackend* backend) : backend_(*backend) {}

  void Run(const std::function<void()>& queue) override;
  void Between(std::function<void()> between) override;
  bool repeated() const override { return repeated_; }
  absl::Status obstacle() const override { return capture_status_; }

 private:
  // What is launched and what is called behind it; the last one calls nothing.
  struct Piece {
    CudaGraph graph;
    std::function<void()> between;
  };
  enum class Next { kWarmUp, kCapture, kReplay, kCallByCall };

  static constexpr int kWarmUps = 4;

  void BeginAnew();
  // Fills pieces_ by what `queue` would do. Nothing of it runs.
  absl::Status Capture(const std::function<void()>& queue);
  void BeginPiece();
  void EndPiece(std::function<void()> between);
  void Replay();

  CudaBackend& backend_;
  Next next_ = Next::kWarmUp;
  int runs_ = 0;
  bool repeated_ = false;
  std::vector<Piece> pieces_;
  int64_t scratch_moves_ = 0;  // As of the capture.
  bool capturing_ = false;
  absl::Status capture_status_;  // How the last capture ended.
  absl::Status begin_status_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_STEP_H_
