#include "services/coordinator/run/course/model.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/job/optimizer_spec.h"

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

// "50,000".
std::string WithCommas(uint32_t number) {
  std::string text = absl::StrCat(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string ShapeText(const ModelTensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]");
}

std::string NumberText(absl::string_view name,
                       const std::optional<double>& number) {
  return number.has_value() ? absl::StrCat("the ", name, " ", *number)
                            : absl::StrCat("no ", name, " of its own");
}

// One number that a tensor may have of its own.
struct OwnNumber {
  absl::string_view name;
  std::optional<double> ModelTensor::*field;
  double least;
  double most;
  bool open;  // The least is none.
};
constexpr OwnNumber kOwnNumbers[] = {
    {"rate_factor", &ModelTensor::rate_factor, 0, kRateMax, false},
    {"weight_decay", &ModelTensor::weight_decay, 0, 1, false},
    {"momentum", &ModelTensor::momentum, 0, 1, true},
};

// What differs in two tensors of one name; empty: nothing.
std::string Difference(const ModelTensor& ours, const ModelTensor& theirs,
                       absl::string_view there, Sameness sameness) {
  const auto is = [&](const auto& here, const auto& other) {
    return absl::StrCat("is ", here, " here and ", other, " ", there);
  };
  if (ours.shape != theirs.shape) {
    return is(ShapeText(ours), ShapeText(theirs));
  }
  if (sameness == Sameness::kNamesAndShapes) return "";
  if (ours.kind != theirs.kind) {
    return is(TensorKindName(ours.kind), TensorKindName(theirs.kind));
  }
  if (sameness == Sameness::kKinds) return "";
  for (const OwnNumber& number : kOwnNumbers) {
    const auto& here = ours.*number.field;
    const auto& other = theirs.*number.field;
    if (here == other) continue;
    return absl::StrCat("has ", NumberText(number.name, here), " here and ",
                        NumberText(number.name, other), " ", there);
  }
  return "";
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
    elements += tensor.kind == TensorKind::kTrained ? tensor.size : 0;
  }
  return elements;
}

absl::Status CheckModel(const std::vector<ModelTensor>& tensors) {
  std::set<absl::string_view> names;
  int64_t left = kElementsMax;
  bool moves = false;
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
    for (const OwnNumber& number : kOwnNumbers) {
      const double value = (tensor.*number.field).value_or(number.most);
      if (value >= number.least && value <= number.most &&
          (!number.open || value > number.least)) {
        continue;  // Not so for a NaN.
      }
      return Impossible(absl::StrCat(
          "\"", name, "\" has the ", number.name, " ", value, ", which is not ",
          number.open ? "above " : "from ", number.least,
          number.open ? " and at most " : " to ", number.most));
    }
    moves = moves || tensor.kind != TensorKind::kFrozen;
  }
  if (!moves) return Impossible("every tensor of it is frozen");
  return absl::OkStatus();
}

std::string FirstDifference(absl::Span<const ModelTensor> ours,
                            absl::Span<const ModelTensor> theirs,
                            absl::string_view there, Sameness sameness) {
  const size_t both = std::min(ours.size(), theirs.size());
  for (size_t i = 0; i < both; ++i) {
    if (ours[i].name != theirs[i].name) {
      return absl::StrCat("tensor ", i, " is \"", ours[i].name,
                          "\" here and \"", theirs[i].name, "\" ", there);
    }
    const std::string difference =
        Difference(ours[i], theirs[i], there, sameness);
    if (difference.empty()) continue;
    return absl::StrCat("tensor \"", ours[i].name, "\" ", difference);
  }
  if (ours.size() == theirs.size()) return "";
  const bool more = ours.size() > both;
  return absl::StrCat("tensor \"", (more ? ours : theirs)[both].name, "\" is ",
                      more ? "here and not " : "not here and is ", there);
}

absl::Status CheckAgreement(const WorkerModel& agreed, absl::string_view worker,
                            const WorkerModel& other, bool trainer) {
  const std::string difference = FirstDifference(
      other.tensors, agreed.tensors, absl::StrCat("at worker ", worker),
      trainer ? Sameness::kAll : Sameness::kNamesAndShapes);
  if (!difference.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        difference, ": all of a job's workers build the same model"));
  }
  if (trainer && other.train_samples != agreed.train_samples) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the job wants ", WithCommas(agreed.train_samples),
        " samples, this data set has ", WithCommas(other.train_samples),
        ": give all workers the same data"));
  }
  return absl::OkStatus();
}

absl::Status HasWeights(const std::vector<ModelTensor>& model,
                        const std::vector<ModelTensor>& weights) {
  std::map<absl::string_view, const ModelTensor*> by_name;
  for (const ModelTensor& tensor : weights) by_name[tensor.name] = &tensor;
  for (const ModelTensor& tensor : model) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the initial weights have no tensor \"", tensor.name,
                       "\", which the workers' model has"));
    }
    if (found->second->shape == tensor.shape) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the initial weights' \"", tensor.name, "\" is ",
                     ShapeText(*found->second), ", the workers' model's ",
                     ShapeText(tensor)));
  }
  return absl::OkStatus();
}

}  // namespace paceline
