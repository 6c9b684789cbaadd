#include "services/worker/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/rng.h"
#include "common/status.h"

namespace paceline {
namespace {

// Tensors begin on cache lines of their own.
constexpr int64_t kAlignFloats = 16;

// Of memory that the host sees.
absl::Span<float> HostSpan(DeviceSpan span) {
  return {span.data, static_cast<size_t>(span.size)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::FromChain(Chain chain,
                                                        Backend* backend,
                                                        int batch_max) {
  CHECK(chain.output().layout == Layout::kFlat && batch_max > 0);
  std::unique_ptr<Model> model(new Model(std::move(chain), backend, batch_max));
  PACELINE_RETURN_IF_ERROR(model->Allocate());
  return model;
}

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
  PACELINE_ASSIGN_OR_RETURN(values_, backend_.Allocate(end));
  PACELINE_ASSIGN_OR_RETURN(gradients_, backend_.Allocate(end));
  PACELINE_ASSIGN_OR_RETURN(
      images_, backend_.Allocate(batch_max_ * chain_.input().size()));
  PACELINE_ASSIGN_OR_RETURN(logits_, backend_.Allocate(logits));
  PACELINE_ASSIGN_OR_RETURN(dlogits_, backend_.Allocate(logits));
  PACELINE_ASSIGN_OR_RETURN(outcome_, backend_.Allocate(2 * batch_max_));
  PACELINE_ASSIGN_OR_RETURN(outcome_host_,
                            backend_.AllocateHost(2 * batch_max_));
  if (!backend_.host_visible()) {
    PACELINE_ASSIGN_OR_RETURN(values_host_, backend_.AllocateHost(end));
    PACELINE_ASSIGN_OR_RETURN(gradients_host_, backend_.AllocateHost(end));
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
  return ParametersChanged();
}

absl::Span<float> Model::parameter(size_t tensor) {
  const Buffer& values = backend_.host_visible() ? *values_ : *values_host_;
  return HostSpan(Part(values, tensor));
}

absl::Span<const float> Model::gradient(size_t tensor) const {
  return HostSpan(
      Part(backend_.host_visible() ? *gradients_ : *gradients_host_, tensor));
}

absl::Status Model::ParametersChanged() {
  if (backend_.host_visible()) return absl::OkStatus();
  backend_.Upload(HostSpan(values_host_->span()), values_->span());
  return backend_.Synchronize();
}

absl::StatusOr<BatchLoss> Model::Forward(const Pass& pass, const float* images,
                                         const uint8_t* labels, float scale) {
  CHECK(pass.batch > 0 && pass.batch <= batch_max_);
  const int64_t pixels = pass.batch * chain_.input().size();
  const int64_t classes = chain_.output().size();
  const DeviceSpan input = images_->span().First(pixels);
  const DeviceSpan logits = logits_->span().First(pass.batch * classes);
  const DeviceSpan outcome = outcome_->span().First(2 * pass.batch);
  backend_.Upload({images, static_cast<size_t>(pixels)}, input);
  chain_.Forward(pass, input, logits);
  backend_.SoftmaxCrossEntropy(
      {pass.batch, classes}, logits, labels, scale,
      pass.training ? dlogits_->span().First(logits.size) : DeviceSpan{},
      outcome.First(pass.batch), outcome.Sub(pass.batch, pass.batch));
  const absl::Span<float> outcome_host =
      HostSpan(outcome_host_->span().First(outcome.size));
  backend_.Download(outcome, outcome_host);
  PACELINE_RETURN_IF_ERROR(backend_.Synchronize());
  BatchLoss loss;
  for (int64_t i = 0; i < pass.batch; ++i) {
    loss.loss_sum += outcome_host[i];
    loss.correct += outcome_host[pass.batch + i] > 0 ? 1 : 0;
  }
  return loss;
}

absl::Status Model::Backward(const Pass& pass,
                             const std::function<void(size_t)>& on_ready) {
  const DeviceView input =
      images_->span().First(pass.batch * chain_.input().size());
  const DeviceView dlogits =
      dlogits_->span().First(pass.batch * chain_.output().size());
  absl::Status status;
  const std::function<void(size_t)> ready = [&](size_t tensor) {
    if (!backend_.host_visible()) {
      backend_.Download(Part(*gradients_, tensor),
                        HostSpan(Part(*gradients_host_, tensor)));
    }
    if (on_ready == nullptr) return;
    status.Update(backend_.Synchronize());
    if (status.ok()) on_ready(tensor);
  };
  Pass backward = pass;
  backward.ready = &ready;
  chain_.Backward(backward, input, dlogits, /*dx=*/{});
  status.Update(backend_.Synchronize());
  return status;
}

absl::StatusOr<BatchLoss> Model::ForwardBackward(
    const float* images, const uint8_t* labels, int n, float scale, bool first,
    const std::function<void(size_t)>& on_ready) {
  const Pass pass{.backend = backend_,
                  .batch = n,
                  .training = true,
                  .beta = first ? 0.0f : 1.0f,
                  .share = static_cast<float>(n) * scale};
  PACELINE_ASSIGN_OR_RETURN(const BatchLoss loss,
                            Forward(pass, images, labels, scale));
  if (!std::isfinite(loss.loss_sum)) return loss;
  PACELINE_RETURN_IF_ERROR(Backward(pass, on_ready));
  return loss;
}

absl::Status Model::ScaleGradients(float factor) {
  backend_.Scale(factor, gradients_->span());
  if (!backend_.host_visible()) {
    backend_.Download(gradients_->span(), HostSpan(gradients_host_->span()));
  }
  return backend_.Synchronize();
}

absl::StatusOr<BatchLoss> Model::Evaluate(const float* images,
                                          const uint8_t* labels, int n) {
  return Forward({.backend = backend_, .batch = n}, images, labels, 1);
}

}  // namespace paceline
