#include "services/worker/model/chain_builder.h"

#include <memory>
#include <utility>

#include "services/worker/model/batch_norm_layer.h"
#include "services/worker/model/dense_layer.h"
#include "services/worker/model/layout_layer.h"
#include "services/worker/model/pool_layer.h"
#include "services/worker/model/relu_layer.h"
#include "services/worker/model/residual_layer.h"

namespace paceline {

ChainBuilder& ChainBuilder::ToPlanes() {
  chain_.Add(std::make_unique<ToPlanesLayer>(output()));
  return *this;
}

ChainBuilder& ChainBuilder::Conv(std::string name, const ConvOptions& options) {
  chain_.Add(std::make_unique<ConvLayer>(std::move(name), output(), options));
  return *this;
}

ChainBuilder& ChainBuilder::BatchNorm(std::string name) {
  chain_.Add(std::make_unique<BatchNormLayer>(std::move(name), output()));
  return *this;
}

ChainBuilder& ChainBuilder::Relu() {
  const ReluTaken taken = chain_.TakeRelu();
  if (taken == ReluTaken::kAll) return *this;
  chain_.Add(
      std::make_unique<ReluLayer>(output(), taken == ReluTaken::kForward));
  return *this;
}

ChainBuilder& ChainBuilder::MaxPool(int64_t window) {
  chain_.Add(
      std::make_unique<PoolLayer>(PoolKind::kMax, output(), window, window));
  return *this;
}

ChainBuilder& ChainBuilder::AveragePool(int64_t window) {
  chain_.Add(std::make_unique<PoolLayer>(PoolKind::kAverage, output(), window,
                                         window));
  return *this;
}

ChainBuilder& ChainBuilder::Flatten() {
  chain_.Add(std::make_unique<FlattenLayer>(output()));
  return *this;
}

ChainBuilder& ChainBuilder::Dense(std::string name, int64_t outputs) {
  const int64_t inputs = output().size();
  chain_.Add(std::make_unique<DenseLayer>(std::move(name), inputs, outputs,
                                          HeInitial(inputs)));
  return *this;
}

ChainBuilder& ChainBuilder::Logits(std::string name, int64_t classes) {
  const int64_t inputs = output().size();
  chain_.Add(std::make_unique<DenseLayer>(std::move(name), inputs, classes,
                                          GlorotInitial(inputs, classes)));
  return *this;
}

ChainBuilder& ChainBuilder::Residual(Chain branch, int64_t stride) {
  chain_.Add(std::make_unique<ResidualLayer>(std::move(branch), stride));
  return *this;
}

}  // namespace paceline
