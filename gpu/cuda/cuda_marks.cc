#include <utility>

#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_status.h"
#include "gpu/cuda/cuda_stream.h"

// Marks are events: one that was never recorded counts as passed.

namespace paceline {
namespace {

class CudaMark final : public Mark {
 public:
  explicit CudaMark(CudaEvent event) : event_(std::move(event)) {}
  cudaEvent_t event() const { return event_.get(); }

 private:
  CudaEvent event_;
};

cudaEvent_t EventOf(const Mark& mark) {
  return static_cast<const CudaMark&>(mark).event();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Mark>> CudaBackend::MakeMark() {
  Stream();
  PACELINE_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Create());
  return std::make_unique<CudaMark>(std::move(event));
}

void CudaBackend::Set(Mark& mark, Lane lane) {
  Note(CudaStatus(cudaEventRecord(EventOf(mark), Stream(lane)),
                  "cudaEventRecord"));
}

void CudaBackend::Follow(Lane lane, const Mark& mark) {
  Note(CudaStatus(cudaStreamWaitEvent(Stream(lane), EventOf(mark), 0),
                  "cudaStreamWaitEvent"));
}

absl::Status CudaBackend::Await(const Mark& mark) {
  Stream();
  Note(CudaStatus(cudaEventSynchronize(EventOf(mark)), "cudaEventSynchronize"));
  return std::exchange(status_, absl::OkStatus());
}

}  // namespace paceline
