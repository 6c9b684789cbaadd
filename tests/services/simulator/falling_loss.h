#ifndef PACELINE_TESTS_SERVICES_SIMULATOR_FALLING_LOSS_H_
#define PACELINE_TESTS_SERVICES_SIMULATOR_FALLING_LOSS_H_

#include <cstdint>
#include <optional>

#include "services/simulator/cluster_observer.h"

namespace paceline {

// Trains nothing, and says of every push that the loss has fallen further.
class FallingLoss : public ClusterObserver {
 public:
  void PushTaken(Nanos /*at*/, const Grant& /*grant*/, uint32_t /*samples*/,
                 PushReport& report) override {
    report.loss = 2 / (1 + pushes_++ / 10);
  }

 private:
  double pushes_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_SIMULATOR_FALLING_LOSS_H_
