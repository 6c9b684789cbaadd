#include "services/worker/replicas/replicated_model.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<ReplicatedModel>> ReplicatedModel::Create(
    absl::string_view name, const ImageShape& input, int classes,
    absl::Span<Backend* const> backends, int batch_max, DType wire) {
  CHECK(!backends.empty());
  auto made = absl::WrapUnique(new ReplicatedModel);
  made->pixels_ = input.size();
  const auto devices = static_cast<int>(backends.size());
  const int part_max = (batch_max + devices - 1) / devices;
  for (size_t i = 1; i < backends.size(); ++i) {
    made->others_.push_back(std::make_unique<Replica>());
    made->others_.back()->index = i;
  }
  absl::StatusOr<std::unique_ptr<Model>> model =
      Model::Create(name, input, classes, backends[0], part_max, wire);
  if (!model.ok()) return made->OfDevice(model.status(), 0);
  made->first_ = *std::move(model);
  for (const std::unique_ptr<Replica>& other : made->others_) {
    model = Model::Create(name, input, classes, backends[other->index],
                          part_max, DType::kF32, made->first_.get());
    if (!model.ok()) return made->OfDevice(model.status(), other->index);
    other->model = *std::move(model);
    other->thread = std::make_unique<WorkQueue>(1, 1);
  }
  return made;
}

absl::Status ReplicatedModel::OfDevice(const absl::Status& status,
                                       size_t device) const {
  if (others_.empty()) return status;
  return Annotate(
      status, absl::StrCat("device ", device + 1, " of ", others_.size() + 1));
}

absl::Status ReplicatedModel::Initialize(uint64_t seed) {
  PACELINE_RETURN_IF_ERROR(first_->Initialize(seed));
  for (const auto& other : others_) {
    PACELINE_RETURN_IF_ERROR(other->model->ParametersReplaced());
  }
  return absl::OkStatus();
}

void ReplicatedModel::ParameterArrived(size_t tensor) {
  first_->ParameterArrived(tensor);
  for (const auto& other : others_) other->model->ParameterArrived(tensor);
}

absl::Status ReplicatedModel::ParametersChanged() {
  PACELINE_RETURN_IF_ERROR(first_->ParametersChanged());
  for (const auto& other : others_) {
    PACELINE_RETURN_IF_ERROR(other->model->ParametersChanged());
  }
  return absl::OkStatus();
}

ReplicatedModel::Batch ReplicatedModel::PartOf(const Batch& batch,
                                               size_t device) const {
  const auto devices = static_cast<int>(others_.size() + 1);
  const auto before = static_cast<int>(device);
  const int most = batch.n % devices;  // These have one sample more.
  const int begin = before * (batch.n / devices) + std::min(before, most);
  return {batch.images + begin * pixels_, batch.labels + begin,
          batch.n / devices + (before < most ? 1 : 0)};
}

void ReplicatedModel::Stage(const float* images, const uint8_t* labels, int n) {
  const Batch batch{images, labels, n};
  const Batch part = PartOf(batch, 0);
  first_->Stage(part.images, part.labels, part.n);
  // The other devices' threads may be at work: they stage their parts.
  if (!others_.empty()) staged_.push_back(batch);
}

void ReplicatedModel::DropStaged() {
  first_->DropStaged();
  for (const auto& other : others_) {
    other->model->DropStaged();
    other->staged = false;
  }
  staged_.clear();
}

void ReplicatedModel::StagePart(Replica& replica, const Batch& batch) {
  const Batch part = PartOf(batch, replica.index);
  if (part.n > 0) replica.model->Stage(part.images, part.labels, part.n);
  replica.staged = true;
}

void ReplicatedModel::OnEach(const std::function<void(Replica&)>& run,
                             const std::function<void()>& meanwhile) {
  for (const auto& other : others_) {
    other->done.emplace();
    CHECK(other->thread->Submit([&run, replica = other.get()] {
      run(*replica);
      replica->done->Notify();
    }));
  }
  meanwhile();
  for (const auto& other : others_) other->done->WaitForNotification();
}

void ReplicatedModel::ComputePart(Replica& replica, const Batch& batch,
                                  float scale, const StepCalls& calls,
                                  const absl::Notification& next_known) {
  replica.loss = BatchLoss{};
  if (!replica.staged) StagePart(replica, batch);
  replica.staged = false;
  if (PartOf(batch, replica.index).n == 0) return;
  StepCalls own;
  own.between_tensors = calls.between_tensors;
  own.meanwhile = [&] {
    next_known.WaitForNotification();
    if (!staged_.empty()) StagePart(replica, staged_.front());
  };
  replica.loss =
      replica.model->ComputeStaged(scale, /*first=*/!replica.apart, own);
  replica.apart = true;
}

absl::StatusOr<BatchLoss> ReplicatedModel::ComputeStaged(
    float scale, bool first, const StepCalls& calls) {
  if (others_.empty()) return first_->ComputeStaged(scale, first, calls);
  CHECK(calls.on_ready == nullptr && !staged_.empty());
  const Batch batch = staged_.front();
  staged_.pop_front();
  absl::Notification next_known;
  absl::StatusOr<BatchLoss> loss;
  StepCalls own = calls;
  own.meanwhile = [&] {
    if (calls.meanwhile != nullptr) calls.meanwhile();
    next_known.Notify();
  };
  OnEach(
      [&](Replica& replica) {
        if (first) replica.apart = false;
        ComputePart(replica, batch, scale, calls, next_known);
      },
      [&] { loss = first_->ComputeStaged(scale, first, own); });
  if (!loss.ok()) return OfDevice(loss.status(), 0);
  for (const auto& other : others_) {
    if (!other->loss.ok()) return OfDevice(other->loss.status(), other->index);
    loss->loss_sum += other->loss->loss_sum;
    loss->correct += other->loss->correct;
  }
  return loss;
}

void ReplicatedModel::ScaleGradients(float factor) {
  first_->ScaleGradients(factor);
  for (const auto& other : others_) {
    if (other->apart) other->model->ScaleGradients(factor);
  }
}

absl::Status ReplicatedModel::FetchGradients() {
  if (others_.empty()) return first_->FetchGradients();
  OnEach([](Replica& replica) {
    replica.fetched =
        replica.apart ? replica.model->FetchGradients() : absl::OkStatus();
  });
  for (const auto& other : others_) {
    if (!other->fetched.ok()) return OfDevice(other->fetched, other->index);
  }
  for (const auto& other : others_) {
    if (std::exchange(other->apart, false)) other->model->AddToOriginal();
  }
  return OfDevice(first_->FetchGradients(), 0);
}

absl::Status ReplicatedModel::repeat_obstacle() const {
  absl::Status obstacle = first_->repeat_obstacle();
  for (const auto& other : others_) {
    obstacle.Update(other->model->repeat_obstacle());
  }
  return obstacle;
}

}  // namespace paceline
