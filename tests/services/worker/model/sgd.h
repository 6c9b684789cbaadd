#ifndef PACELINE_TESTS_SERVICES_WORKER_MODEL_SGD_H_
#define PACELINE_TESTS_SERVICES_WORKER_MODEL_SGD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/backend.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"

namespace paceline {

struct SgdOptions {
  int batch = 32;
  float rate = 0.01f;
  float momentum = 0.9f;
  uint64_t seed = 1;
};

// Plain training in one process, steps by the backend's own kernel: what every
// paradigm is measured against.
class Sgd {
 public:
  // `backend` is the model's.
  Sgd(Model& model, Backend& backend, const Dataset& data,
      const SgdOptions& options);

  // Batches [from, to) of the epoch's permutation.
  void Train(uint32_t epoch, uint32_t from, uint32_t to);
  void TrainEpoch(uint32_t epoch);

 private:
  // One tensor's arrays on the device.
  struct State {
    std::unique_ptr<Buffer> gradient;
    std::unique_ptr<Buffer> velocity;
    std::unique_ptr<Buffer> weights;
  };

  void Update();

  Model& model_;
  Backend& backend_;
  const Dataset& data_;
  const SgdOptions options_;
  std::vector<State> states_;  // Of no arrays for a statistic.
  std::vector<float> images_;
  std::vector<uint8_t> labels_;
};

// The share of `data` that the model gets right.
double Accuracy(Model& model, const Dataset& data);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_MODEL_SGD_H_
