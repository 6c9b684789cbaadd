#include "services/cli/input_check.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "gpu/backend.h"
#include "services/worker/data/load_dataset.h"
#include "services/worker/model/model.h"

namespace paceline {
namespace {

absl::StatusOr<Dataset> Load(const std::string& data, Split split) {
  absl::StatusOr<Dataset> loaded = LoadDataset(data, split);
  if (loaded.ok()) return loaded;
  return Annotate(loaded.status(), absl::StrCat("--data ", data));
}

}  // namespace

absl::StatusOr<int64_t> CheckDataAndModel(const std::string& data,
                                          const std::string& model) {
  PACELINE_ASSIGN_OR_RETURN(const Dataset train, Load(data, Split::kTrain));
  PACELINE_ASSIGN_OR_RETURN(const Dataset test, Load(data, Split::kTest));
  if (!(train.shape() == test.shape()) || train.classes() != test.classes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data ", data, ": training and test images differ in size"));
  }
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                            MakeBackend("cpu"));
  PACELINE_RETURN_IF_ERROR(
      Annotate(Model::Create(model, train.shape(), train.classes(),
                             backend.get(), /*batch_max=*/1)
                   .status(),
               absl::StrCat("--model ", model, " on --data ", data)));
  return train.size();
}

}  // namespace paceline
