#include "gpu/cuda/cuda_graph.h"

#include <cstddef>

#include "common/status.h"
#include "gpu/cuda/cuda_status.h"

namespace paceline {

absl::StatusOr<CudaGraph> CudaGraph::EndCapture(cudaStream_t stream) {
  cudaGraph_t captured = nullptr;
  PACELINE_RETURN_IF_ERROR(CudaStatus(cudaStreamEndCapture(stream, &captured),
                                      "cudaStreamEndCapture"));
  size_t nodes = 0;
  absl::Status status = CudaStatus(cudaGraphGetNodes(captured, nullptr, &nodes),
                                   "cudaGraphGetNodes");
  cudaGraphExec_t graph = nullptr;
  if (status.ok() && nodes > 0) {
    status = CudaStatus(cudaGraphInstantiateWithFlags(&graph, captured, 0),
                        "cudaGraphInstantiateWithFlags");
  }
  cudaGraphDestroy(captured);
  if (!status.ok()) return status;
  return CudaGraph(graph);
}

absl::Status CudaGraph::Launch(cudaStream_t stream) const {
  return CudaStatus(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch");
}

}  // namespace paceline
