#include "services/cli/training_data.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "gpu/backend.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"

namespace paceline {
namespace {

absl::StatusOr<Dataset> Load(const std::string& data, Split split) {
  // Who gives the command names files of their own.
  return Annotate(LoadDataset(data, split, {.anywhere = true}),
                  absl::StrCat("--data ", data));
}

}  // namespace

absl::StatusOr<TrainingData> LoadTrainingData(const std::string& data,
                                              const std::string& model,
                                              absl::string_view model_flag) {
  PACELINE_ASSIGN_OR_RETURN(Dataset train, Load(data, Split::kTrain));
  PACELINE_ASSIGN_OR_RETURN(Dataset test, Load(data, Split::kTest));
  if (!(train.shape() == test.shape()) || train.classes() != test.classes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data ", data, ": training and test images differ in size"));
  }
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                            MakeBackend("cpu"));
  const auto made = Model::Create(model, train.shape(), train.classes(),
                                  backend.get(), /*batch_max=*/1);
  PACELINE_RETURN_IF_ERROR(
      Annotate(made.status(),
               absl::StrCat(model_flag, " ", model, " on --data ", data)));
  int64_t bytes = 0;
  for (const TensorSpec& tensor : (*made)->tensors()) {
    bytes += tensor.size * int64_t{sizeof(float)};
  }
  return TrainingData{std::move(train), std::move(test), bytes};
}

}  // namespace paceline
