#ifndef PACELINE_SERVICES_WORKER_MODEL_TENSOR_H_
#define PACELINE_SERVICES_WORKER_MODEL_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/tensor/tensor_kind.h"

namespace paceline {

// A named array of a model, as the parameter servers keep it. Weights are
// trained. What a worker pushes for a statistic, of batch normalization, is the
// batch's value itself.
struct TensorSpec {
  std::string name;
  TensorKind kind = TensorKind::kTrained;
  std::vector<int64_t> shape;
  int64_t size = 0;  // The product of `shape`.
};

// Every element starts at constant + uniform in [-bound, bound).
struct InitialValue {
  float constant = 0;
  float bound = 0;
};

// For weights in front of a ReLU: variance 2 / fan_in (He et al., "Delving
// Deep into Rectifiers", 2015, eq. 10), drawn uniformly, because that needs
// nothing but correctly rounded operations and so gives the same bits anywhere.
InitialValue HeInitial(int64_t fan_in);

// For weights in front of the softmax: variance 2 / (fan_in + fan_out) (Glorot
// and Bengio 2010, eq. 16).
InitialValue GlorotInitial(int64_t fan_in, int64_t fan_out);

// A tensor that a layer asks for.
struct TensorPlan {
  TensorSpec spec;
  InitialValue initial;
};

TensorPlan PlanTensor(std::string name, TensorKind kind,
                      std::vector<int64_t> shape, InitialValue initial);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_TENSOR_H_
