#include "services/coordinator/run/course/model.h"

#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paceline {
namespace {

// The limits of a checkpoint's manifest.
constexpr size_t kNameMax = 1024;
constexpr int64_t kElementsMax = int64_t{1} << 38;

// The product of the extents, if it is at most kElementsMax; otherwise 0.
int64_t ElementsOf(const ModelTensor& tensor) {
  int64_t elements = 1;
  for (const int64_t extent : tensor.shape) {
    if (extent < 1 || extent > kElementsMax / elements) return 0;
    elements *= extent;
  }
  return elements;
}

absl::Status Impossible(absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the model is impossible: ", why));
}

}  // namespace

int64_t WorkerModel::Elements() const {
  int64_t elements = 0;
  for (const ModelTensor& tensor : tensors) elements += tensor.size;
  return elements;
}

int64_t WorkerModel::Parameters() const {
  int64_t elements = 0;
  for (const ModelTensor& tensor : tensors) {
    elements += tensor.statistic ? 0 : tensor.size;
  }
  return elements;
}

absl::Status CheckModel(const std::vector<ModelTensor>& tensors) {
  std::set<absl::string_view> names;
  int64_t left = kElementsMax;
  for (const ModelTensor& tensor : tensors) {
    const absl::string_view name = tensor.name;
    if (name.empty() || name.size() > kNameMax) {
      return Impossible(absl::StrCat("a tensor's name has ", name.size(),
                                     " characters, not 1 to ", kNameMax));
    }
    if (!names.insert(name).second) {
      return Impossible(absl::StrCat("two tensors are \"", name, "\""));
    }
    const int64_t elements = ElementsOf(tensor);
    if (elements == 0 || elements != tensor.size) {
      return Impossible(absl::StrCat("\"", name, "\" has ", tensor.size,
                                     " elements, which is not its shape"));
    }
    if (elements > left) {
      return Impossible(
          absl::StrCat("it has more than ", kElementsMax, " elements"));
    }
    left -= elements;
  }
  return absl::OkStatus();
}

absl::Status CheckAgreement(const WorkerModel& agreed, const WorkerModel& other,
                            bool trainer) {
  if (other.tensors != agreed.tensors) {
    return absl::FailedPreconditionError(
        "the model differs from the other workers': run the same version");
  }
  if (trainer && other.train_samples != agreed.train_samples) {
    return absl::FailedPreconditionError(
        absl::StrCat("the training data has ", other.train_samples,
                     " samples, the other workers' ", agreed.train_samples,
                     ": give all workers the same data"));
  }
  return absl::OkStatus();
}

}  // namespace paceline
