#ifndef PACELINE_GPU_CUDA_CUDA_GRAPH_H_
#define PACELINE_GPU_CUDA_CUDA_GRAPH_H_

#include <cuda_runtime.h>

#include <utility>

#include "absl/status/statusor.h"

namespace paceline {

// A graph that can be launched. Move-only.
class CudaGraph {
 public:
  // Ends the capture that `stream` is in; what was given to it since is the
  // graph, and has not run.
  static absl::StatusOr<CudaGraph> EndCapture(cudaStream_t stream);
  CudaGraph(CudaGraph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~CudaGraph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  // There is nothing to launch.
  bool empty() const { return graph_ == nullptr; }
  absl::Status Launch(cudaStream_t stream) const;

 private:
  explicit CudaGraph(cudaGraphExec_t graph) : graph_(graph) {}

  cudaGraphExec_t graph_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_GRAPH_H_
