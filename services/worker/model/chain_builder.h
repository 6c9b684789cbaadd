#ifndef PACELINE_SERVICES_WORKER_MODEL_CHAIN_BUILDER_H_
#define PACELINE_SERVICES_WORKER_MODEL_CHAIN_BUILDER_H_

#include <string>
#include <utility>

#include "services/worker/model/chain.h"
#include "services/worker/model/conv_layer.h"

namespace paceline {

// Writes a model down as the list that it is: every step takes the shape from
// the one before it. What does not fit is a bug.
class ChainBuilder {
 public:
  explicit ChainBuilder(const FeatureShape& input) : chain_(input) {}

  ChainBuilder& ToPlanes();
  ChainBuilder& Conv(std::string name, const ConvOptions& options);
  ChainBuilder& BatchNorm(std::string name);
  ChainBuilder& Relu();
  // Windows side by side.
  ChainBuilder& MaxPool(int64_t window);
  ChainBuilder& AveragePool(int64_t window);
  ChainBuilder& Flatten();
  // In front of a ReLU: He-initialized.
  ChainBuilder& Dense(std::string name, int64_t outputs);
  // In front of the softmax: Glorot-initialized.
  ChainBuilder& Logits(std::string name, int64_t classes);
  ChainBuilder& Residual(Chain branch, int64_t stride);

  const FeatureShape& output() const { return chain_.output(); }
  Chain Build() && { return std::move(chain_); }

 private:
  Chain chain_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_CHAIN_BUILDER_H_
