#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/worker/model/architectures.h"
#include "services/worker/model/model.h"
#include "services/worker/model/model_names.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<Model>> Model::Create(
    absl::string_view name, const ImageShape& input, int classes,
    Backend* backend, int batch_max, DType wire) {
  PACELINE_RETURN_IF_ERROR(CheckModelName(name));
  for (const Architecture& architecture : Architectures()) {
    if (architecture.name != name) continue;
    const int side = architecture.side_min;
    if (input.channels < 1 || input.height < side || input.width < side) {
      return absl::InvalidArgumentError(absl::StrCat(
          "model ", name, " needs images of at least ", side, "x", side,
          ", the data has ", input.channels, "x", input.height, "x",
          input.width, " (channels x height x width)"));
    }
    if (classes < 2 || classes > 256) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a model needs between 2 and 256 classes, the data has ", classes));
    }
    if (batch_max < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch needs at least 1 sample, not ", batch_max));
    }
    return FromChain(architecture.build(input, classes), backend, batch_max,
                     wire);
  }
  CHECK(false);  // A name without an architecture.
}

}  // namespace paceline
