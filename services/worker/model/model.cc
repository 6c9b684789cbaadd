#include "services/worker/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/rng.h"
#include "common/status.h"

namespace paceline {
namespace {

// Tensors begin on cache lines of their own, in each format of the wire at
// least on whole floats.
constexpr int64_t kAlignFloats = 16;

}  // namespace

std::vector<GradientBucket> MakeBuckets(absl::Span<const int64_t> offsets,
                                        int64_t least) {
  CHECK(!offsets.empty());
  std::vector<GradientBucket> buckets;
  size_t end = offsets.size() - 1;
  for (size_t first = end; first-- > 0;) {
    const int64_t size = offsets[end] - offsets[first];
    if (size < least && first > 0) continue;
    buckets.push_back({first, end, offsets[first], size});
    end = first;
  }
  return buckets;
}

absl::StatusOr<std::unique_ptr<Model>> Model::FromChain(
    Chain chain, Backend* backend, int batch_max, DType wire, Model* original) {
  CHECK(chain.output().layout == Layout::kFlat && batch_max > 0);
  CHECK(original == nullptr || wire == DType::kF32);
  std::unique_ptr<Model> model(
      new Model(std::move(chain), backend, batch_max, wire, original));
  PACELINE_RETURN_IF_ERROR(model->Allocate());
  return model;
}

Model::~Model() { backend_.Synchronize().IgnoreError(); }

absl::Status Model::Allocate() {
  int64_t end = 0;
  for (TensorPlan& plan : chain_.Plan()) {
    offsets_.push_back(end);
    end += (plan.spec.size + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
    specs_.push_back(std::move(plan.spec));
    initials_.push_back(plan.initial);
  }
  offsets_.push_back(end);
  const int64_t logits = batch_max_ * chain_.output().size();
  PACELINE_RETURN_IF_ERROR(
      staging_.Allocate(&backend_, chain_.input().size(),
                        static_cast<int>(chain_.output().size()), batch_max_));
  if (original_ != nullptr) {
    CHECK(original_->offsets_ == offsets_);
    CHECK(original_->host_visible() == host_visible());
  }
  if (original_ != nullptr && host_visible()) {
    values_ = original_->values_;
  } else {
    PACELINE_ASSIGN_OR_RETURN(values_, backend_.Allocate(end));
  }
  PACELINE_ASSIGN_OR_RETURN(gradients_, backend_.Allocate(end));
  if (wire_ != DType::kF32) {
    PACELINE_ASSIGN_OR_RETURN(packed_,
                              backend_.Allocate(PackedSize(wire_, end)));
  }
  PACELINE_ASSIGN_OR_RETURN(logits_, backend_.Allocate(logits));
  PACELINE_ASSIGN_OR_RETURN(dlogits_, backend_.Allocate(logits));
  PACELINE_ASSIGN_OR_RETURN(outcome_, backend_.Allocate(2 * batch_max_));
  if (!backend_.host_visible()) {
    PACELINE_RETURN_IF_ERROR(AllocateHostSide(end));
  }
  std::vector<BoundTensor> tensors;
  for (size_t i = 0; i < specs_.size(); ++i) {
    tensors.push_back({i, Part(*values_, i), Part(*gradients_, i)});
  }
  chain_.Bind(tensors);
  return chain_.Allocate(backend_, batch_max_);
}

DeviceSpan Model::Part(const Buffer& all, size_t tensor) const {
  return all.span().Sub(offsets_[tensor], specs_[tensor].size);
}

absl::Status Model::Initialize(uint64_t seed) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    // A stream for each tensor: one more tensor leaves the others as they were.
    Rng rng(DeriveSeed(seed, i));
    const InitialValue& initial = initials_[i];
    for (float& value : parameter(i)) {
      const auto unit = static_cast<float>(2 * rng.Unit() - 1);
      value = initial.constant + initial.bound * unit;
    }
  }
  return ParametersReplaced();
}

absl::Status Model::ParametersReplaced() {
  std::fill(arrived_.begin(), arrived_.end(), false);
  for (Bucket& bucket : buckets_) bucket.sent = false;
  return ParametersChanged();
}

absl::Span<float> Model::parameter(size_t tensor) {
  const Buffer& values = backend_.host_visible() ? *values_ : *values_host_;
  return HostSpan(Part(values, tensor));
}

absl::Span<const float> Model::gradient(size_t tensor) const {
  CHECK(wire_ == DType::kF32 || backend_.host_visible());
  return HostSpan(
      Part(backend_.host_visible() ? *gradients_ : *gradients_host_, tensor));
}

absl::string_view Model::wire_gradient(size_t tensor) const {
  if (wire_ == DType::kF32) return BytesOf(gradient(tensor));
  const Buffer& all = backend_.host_visible() ? *packed_ : *gradients_host_;
  return BytesOf(HostSpan(Packed(all, offsets_[tensor], specs_[tensor].size)))
      .substr(0, EncodedSize(wire_, specs_[tensor].size));
}

DeviceSpan Model::Packed(const Buffer& all, int64_t offset,
                         int64_t size) const {
  return all.span().Sub(PackedSize(wire_, offset), PackedSize(wire_, size));
}

void Model::Pack(int64_t offset, int64_t size) {
  if (wire_ == DType::kF32) return;
  backend_.Pack(wire_, gradients_->span().Sub(offset, size),
                Packed(*packed_, offset, size));
}

absl::StatusOr<BatchLoss> Model::ComputeStaged(float scale, bool first,
                                               const StepCalls& calls) {
  const StagedBatch batch = staging_.Begin();
  const Pass pass{.backend = backend_,
                  .batch = batch.n,
                  .training = true,
                  .beta = first ? 0.0f : 1.0f,
                  .share = static_cast<float>(batch.n) * scale};
  return backend_.host_visible() ? ComputeHere(batch, pass, scale, calls)
                                 : ComputeThere(batch, pass, scale, calls);
}

absl::StatusOr<BatchLoss> Model::ForwardBackward(
    const float* images, const uint8_t* labels, int n, float scale, bool first,
    const std::function<void(size_t)>& on_ready) {
  DropStaged();
  Stage(images, labels, n);
  return ComputeStaged(scale, first, {.on_ready = on_ready});
}

absl::StatusOr<BatchLoss> Model::Evaluate(const float* images,
                                          const uint8_t* labels, int n) {
  DropStaged();
  Stage(images, labels, n);
  const StagedBatch batch = staging_.Begin();
  const Pass pass{.backend = backend_, .batch = n};
  return backend_.host_visible()
             ? ComputeHere(batch, pass, /*scale=*/1, /*calls=*/{})
             : ComputeThere(batch, pass, /*scale=*/1, /*calls=*/{});
}

absl::StatusOr<BatchLoss> Model::ComputeHere(const StagedBatch& batch,
                                             const Pass& pass, float scale,
                                             const StepCalls& calls) {
  Forward(batch, pass, scale);
  const BatchLoss loss = LossOf(batch.n, *outcome_);
  if (pass.training && std::isfinite(loss.loss_sum)) {
    const std::function<void(size_t)> ready = [&](size_t tensor) {
      if (calls.between_tensors != nullptr) calls.between_tensors();
      if (calls.on_ready == nullptr) return;
      Pack(offsets_[tensor], specs_[tensor].size);
      calls.on_ready(tensor);
    };
    Pass backward = pass;
    backward.ready = &ready;
    Backward(batch, backward);
  }
  staging_.End();
  if (calls.meanwhile != nullptr) calls.meanwhile();
  return loss;
}

void Model::Forward(const StagedBatch& batch, const Pass& pass, float scale) {
  const int64_t classes = chain_.output().size();
  const DeviceSpan logits = logits_->span().First(pass.batch * classes);
  chain_.Forward(pass, batch.images, logits);
  backend_.SoftmaxCrossEntropy(
      {pass.batch, classes}, logits, batch.labels, scale,
      pass.training ? dlogits_->span().First(logits.size) : DeviceSpan{},
      outcome_->span().First(pass.batch),
      outcome_->span().Sub(pass.batch, pass.batch));
}

void Model::Backward(const StagedBatch& batch, const Pass& pass) {
  chain_.Backward(pass, batch.images,
                  dlogits_->span().First(pass.batch * chain_.output().size()),
                  /*dx=*/{});
}

BatchLoss Model::LossOf(int batch, const Buffer& outcome) const {
  const absl::Span<const float> each = HostSpan(outcome.span());
  BatchLoss loss;
  for (int i = 0; i < batch; ++i) {
    loss.loss_sum += each[i];
    loss.correct += each[batch + i] > 0 ? 1 : 0;
  }
  return loss;
}

void Model::ScaleGradients(float factor) {
  backend_.Scale(factor, gradients_->span());
}

}  // namespace paceline
