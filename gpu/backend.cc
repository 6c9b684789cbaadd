#include "gpu/backend.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "gpu/cpu/cpu_backend.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(
    absl::string_view name, const BackendOptions& options) {
  if (name == "cpu") {
    if (options.threads < 1 || options.threads > 1024) {
      return absl::InvalidArgumentError(absl::StrCat(
          "threads must be between 1 and 1024, not ", options.threads));
    }
    return std::make_unique<CpuBackend>(options.threads);
  }
  if (name == "cuda") {
    return absl::FailedPreconditionError(
        "backend cuda: this paceline was built without CUDA; use cpu");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown backend \"", name, "\"; there are cpu and cuda"));
}

}  // namespace paceline
