#include "gpu/backend.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "gpu/cpu/cpu_backend.h"
#include "gpu/cuda_loader.h"

namespace paceline {
namespace {

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(
    const BackendOptions& options) {
  if (options.device < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no GPU ", options.device));
  }
  // Written so that NaN fails.
  if (!(options.memory_fraction > 0 && options.memory_fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the share of the GPU's memory must be above 0 and at "
                     "most 1, not ",
                     options.memory_fraction));
  }
  const absl::StatusOr<CudaModule> cuda = LoadCuda();
  if (!cuda.ok()) return cuda.status();
  absl::StatusOr<std::unique_ptr<Backend>> backend;
  cuda->make_backend(options, backend);
  return backend;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(
    absl::string_view name, const BackendOptions& options) {
  if (name == "cpu") {
    if (options.threads < 1 || options.threads > 1024) {
      return absl::InvalidArgumentError(absl::StrCat(
          "threads must be between 1 and 1024, not ", options.threads));
    }
    return std::make_unique<CpuBackend>(options.threads);
  }
  if (name == "cuda") return MakeCudaBackend(options);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown backend \"", name, "\"; there are cpu and cuda"));
}

}  // namespace paceline
