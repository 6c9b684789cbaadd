#include "tests/services/worker/model/sgd.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "common/permutation.h"

namespace paceline {

Sgd::Sgd(Model& model, Backend& backend, const Dataset& data,
         const SgdOptions& options)
    : model_(model), backend_(backend), data_(data), options_(options) {
  const auto allocate = [&](int64_t size) {
    auto buffer = backend.Allocate(size);
    CHECK(buffer.ok());
    return *std::move(buffer);
  };
  for (const TensorSpec& spec : model.tensors()) {
    State& state = states_.emplace_back();
    if (spec.kind == TensorKind::kStatistic) continue;
    const auto size = static_cast<int64_t>(spec.size);
    state = {allocate(size), allocate(options.momentum == 0 ? 0 : size),
             allocate(size)};
  }
  images_.resize(options.batch * data.shape().size());
  labels_.resize(options.batch);
}

void Sgd::Train(uint32_t epoch, uint32_t from, uint32_t to) {
  const auto order = EpochPermutation(options_.seed, epoch, data_.size());
  const auto batch = static_cast<size_t>(options_.batch);
  for (uint32_t step = from; step < to; ++step) {
    data_.Gather({order.data() + step * batch, batch}, images_.data(),
                 labels_.data());
    const auto loss = model_.ForwardBackward(
        images_.data(), labels_.data(), options_.batch,
        1.0f / static_cast<float>(options_.batch), /*first=*/true);
    CHECK(loss.ok() && model_.FetchGradients().ok());
    Update();
  }
}

void Sgd::TrainEpoch(uint32_t epoch) {
  Train(epoch, 0, data_.size() / static_cast<uint32_t>(options_.batch));
}

void Sgd::Update() {
  const SgdStep step{.rate = options_.rate, .momentum = options_.momentum};
  for (size_t t = 0; t < states_.size(); ++t) {
    const auto values = model_.parameter(t);
    const auto gradient = model_.gradient(t);
    if (model_.tensors()[t].kind == TensorKind::kStatistic) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] += 0.1f * (gradient[i] - values[i]);
      }
      continue;
    }
    const State& state = states_[t];
    backend_.Upload(Lane::kCompute, gradient, state.gradient->span());
    backend_.Upload(Lane::kCompute, values, state.weights->span());
    backend_.ApplySgd(step, state.gradient->span(), state.velocity->span(),
                      state.weights->span());
    backend_.Download(Lane::kCompute, state.weights->span(), values);
  }
  CHECK(backend_.Synchronize().ok());
  CHECK(model_.ParametersChanged().ok());
}

double Accuracy(Model& model, const Dataset& data) {
  std::vector<uint32_t> indices(data.size());
  std::iota(indices.begin(), indices.end(), 0u);
  const auto batch = static_cast<uint32_t>(model.batch_max());
  std::vector<float> images(batch * data.shape().size());
  std::vector<uint8_t> labels(batch);
  int correct = 0;
  for (uint32_t at = 0; at < data.size(); at += batch) {
    const uint32_t n = std::min(batch, data.size() - at);
    data.Gather({indices.data() + at, n}, images.data(), labels.data());
    const auto loss =
        model.Evaluate(images.data(), labels.data(), static_cast<int>(n));
    CHECK(loss.ok());
    correct += loss->correct;
  }
  return static_cast<double>(correct) / data.size();
}

}  // namespace paceline
