#include "gpu/cuda/cuda_step.h"

#include <memory>
#include <utility>

#include "gpu/cuda/cuda_status.h"

namespace paceline {

void CudaStep::Run(const std::function<void()>& queue) {
  repeated_ = false;
  if (next_ == Next::kReplay && scratch_moves_ != backend_.scratch_moves_) {
    BeginAnew();  // Its kernels write where scratch was.
  }
  if (next_ == Next::kCapture) {
    next_ = Capture(queue).ok() ? Next::kReplay : Next::kCallByCall;
  }
  if (next_ == Next::kReplay) return Replay();
  queue();
  // A run that failed may have left scratch memory too small.
  if (next_ == Next::kWarmUp && backend_.status_.ok() && ++runs_ == kWarmUps) {
    next_ = Next::kCapture;
  }
}

void CudaStep::BeginAnew() {
  pieces_.clear();
  runs_ = 0;
  next_ = Next::kWarmUp;
}

void CudaStep::Between(std::function<void()> between) {
  if (!capturing_) return between();
  EndPiece(std::move(between));
  BeginPiece();
}

absl::Status CudaStep::Capture(const std::function<void()>& queue) {
  pieces_.clear();
  capture_status_ = absl::OkStatus();
  scratch_moves_ = backend_.scratch_moves_;
  // What goes wrong with capturing is not the step's error: it runs otherwise.
  absl::Status status = std::exchange(backend_.status_, absl::OkStatus());
  capturing_ = true;
  BeginPiece();
  queue();
  EndPiece(nullptr);
  capturing_ = false;
  std::swap(status, backend_.status_);
  capture_status_.Update(status);
  backend_.Note(begin_status_);
  if (!capture_status_.ok()) {
    pieces_.clear();
    cudaGetLastError();  // Else the next launch would report it.
  }
  return capture_status_;
}

void CudaStep::BeginPiece() {
  // Only this thread's: others may allocate meanwhile.
  const absl::Status begun =
      CudaStatus(cudaStreamBeginCapture(backend_.Stream(),
                                        cudaStreamCaptureModeThreadLocal),
                 "cudaStreamBeginCapture");
  // What follows runs now, and would run again: that is an error of the step.
  begin_status_.Update(begun);
  capture_status_.Update(begun);
}

void CudaStep::EndPiece(std::function<void()> between) {
  absl::StatusOr<CudaGraph> graph = CudaGraph::EndCapture(backend_.Stream());
  capture_status_.Update(graph.status());
  if (graph.ok()) pieces_.push_back({*std::move(graph), std::move(between)});
}

void CudaStep::Replay() {
  repeated_ = true;
  for (const Piece& piece : pieces_) {
    if (!piece.graph.empty()) {
      backend_.Note(piece.graph.Launch(backend_.Stream()));
    }
    if (piece.between != nullptr) piece.between();
  }
}

std::unique_ptr<RepeatedStep> CudaBackend::MakeRepeatedStep() {
  return std::make_unique<CudaStep>(this);
}

}  // namespace paceline
