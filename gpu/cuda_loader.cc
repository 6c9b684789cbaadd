#include "gpu/cuda_loader.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

#ifdef PACELINE_HAS_CUDA

// Found by the program's run path, or where libraries are.
constexpr char kModule[] = "libpaceline_cuda.so";

template <class Function>
bool Find(void* module, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(module, name));
  return function != nullptr;
}

absl::StatusOr<CudaModule> Load() {
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  CudaModule loaded;
  if (module == nullptr ||
      !Find(module, "PacelineMakeCudaBackend", loaded.make_backend) ||
      !Find(module, "PacelineFindGpu", loaded.find_gpu)) {
    return absl::UnavailableError(
        absl::StrCat("the CUDA backend cannot be loaded: ", dlerror()));
  }
  return loaded;
}

#else

absl::StatusOr<CudaModule> Load() {
  return absl::FailedPreconditionError("this paceline was built without CUDA");
}

#endif

}  // namespace

absl::StatusOr<CudaModule> LoadCuda() {
  static const absl::StatusOr<CudaModule> module = Load();
  return module;
}

absl::StatusOr<GpuDevice> FindGpu(int ordinal) {
  const absl::StatusOr<CudaModule> cuda = LoadCuda();
  if (!cuda.ok()) return cuda.status();
  absl::StatusOr<GpuDevice> device;
  cuda->find_gpu(ordinal, device);
  return device;
}

}  // namespace paceline
