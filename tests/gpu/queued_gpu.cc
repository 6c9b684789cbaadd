#include "tests/gpu/queued_gpu.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gpu/cuda_loader.h"

namespace paceline {
namespace {

class Gpu {
 public:
  void Set(const QueuedBackend::Manners& manners, const absl::Status& found) {
    absl::MutexLock lock(&mu_);
    manners_ = manners;
    found_ = found;
  }

  absl::Status Find() {
    absl::MutexLock lock(&mu_);
    return found_;
  }

  // Tests may make them on several threads at a time.
  absl::StatusOr<std::unique_ptr<Backend>> NextBackend() {
    absl::MutexLock lock(&mu_);
    if (!found_.ok()) return found_;
    ++manners_.seed;
    return std::make_unique<QueuedBackend>(manners_);
  }

 private:
  absl::Mutex mu_;
  QueuedBackend::Manners manners_ ABSL_GUARDED_BY(mu_);
  absl::Status found_ ABSL_GUARDED_BY(mu_);
};

Gpu& TheGpu() {
  static Gpu gpu;
  return gpu;
}

}  // namespace

void SetQueuedGpu(const QueuedBackend::Manners& manners,
                  const absl::Status& found) {
  TheGpu().Set(manners, found);
}

absl::StatusOr<CudaModule> LoadCuda() {
  CudaModule module;
  module.make_backend = [](const BackendOptions& /*options*/,
                           absl::StatusOr<std::unique_ptr<Backend>>& backend) {
    backend = TheGpu().NextBackend();
  };
  module.find_gpu = [](int ordinal, absl::StatusOr<GpuDevice>& device) {
    const absl::Status there = TheGpu().Find();
    if (!there.ok()) {
      device = there;
      return;
    }
    GpuDevice found;
    found.ordinal = ordinal;
    found.name = "queued";
    device = found;
  };
  return module;
}

absl::StatusOr<GpuDevice> FindGpu(int ordinal) {
  absl::StatusOr<GpuDevice> device;
  LoadCuda()->find_gpu(ordinal, device);
  return device;
}

}  // namespace paceline
