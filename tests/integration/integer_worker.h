#ifndef PACELINE_TESTS_INTEGRATION_INTEGER_WORKER_H_
#define PACELINE_TESTS_INTEGRATION_INTEGER_WORKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/worker/control_stream.h"

namespace paceline {

// A worker whose gradients are small integers, the same in every element and
// given by the range alone. With plain SGD at rate 1 every weight counts what
// was applied: a lost or doubled push of any range shows in the sum.
struct IntegerWorker {
  std::string coordinator;
  std::string name;
  uint32_t train_samples = 0;
  std::vector<int64_t> tensors;  // Sizes.
  absl::Duration step;           // Slept before each push.

  // Works until the job ends, as a new incarnation when declared lost.
  absl::Status Run() const;

  // The gradient of the range that begins at `begin`.
  static float GradientAt(uint32_t begin) {
    return 1.0f + static_cast<float>(begin / 32 % 4);
  }

 private:
  absl::Status RunIncarnation() const;
  absl::Status TakePart(ControlStream& control,
                        const v1::Assignment& assignment) const;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_INTEGER_WORKER_H_
