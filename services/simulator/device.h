#ifndef PACELINE_SERVICES_SIMULATOR_DEVICE_H_
#define PACELINE_SERVICES_SIMULATOR_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/rng.h"
#include "services/simulator/jitter.h"
#include "services/simulator/nanos.h"
#include "services/worker/pace/distribution.h"

namespace paceline {

// One iteration of a real run, to be replayed.
struct RecordedIteration {
  Nanos compute = 0;     // At least 1.
  uint32_t samples = 1;  // At least 1.
  // What the link would take is taken where there is none.
  std::optional<Nanos> push = std::nullopt;
  std::optional<Nanos> pull = std::nullopt;
};

// How long one virtual worker computes.
struct DeviceSpec {
  Nanos iteration = 1'000'000'000;  // Mean, of a full batch; at least 1.
  Jitter jitter = {};
  // What each micro-batch of an iteration after its first takes besides its
  // samples' time.
  Nanos micro_batch = 0;
  // If not null, and then not empty, replaces the two above: replayed in order
  // and, after the last, from the first again, beginning with `offset`.
  std::shared_ptr<const std::vector<RecordedIteration>> recorded = nullptr;
  size_t offset = 0;
};

// Draws the iterations of one virtual worker. The same seed gives the same
// ones whatever the paradigm, so that paradigms are compared on equal luck.
// Thread-compatible.
class Device {
 public:
  // `spec` outlives the device; `batch_size` is at least 1.
  Device(const DeviceSpec* spec, uint32_t batch_size, uint64_t seed);

  // One iteration as it will go.
  struct Iteration {
    Nanos work = 0;  // Computing, outside of bursts; at least 1.
    std::optional<Nanos> push = std::nullopt;  // As recorded.
    std::optional<Nanos> pull = std::nullopt;
  };
  // What takes long takes so for a full batch, whatever iterations that is
  // spread over: it draws anew only where a batch ends. Two full batches in a
  // row are two draws all the same, unless times are recorded: else they would
  // scatter less for good after one iteration that was none.
  Iteration Next(uint32_t samples);

  // When `work` that began at `begin` is done, in micro-batches of which so
  // many take longer: bursts stretch it all.
  Nanos Finish(Nanos begin, Nanos work, int64_t costly_micro_batches) const;

 private:
  Nanos Draw();
  // The next full batch: what is drawn, or recorded.
  void DrawBatch();

  const DeviceSpec& spec_;
  const uint32_t batch_size_;
  const DelaySpec distribution_;  // Of a full batch; for a jitter.
  Rng rng_;
  Nanos first_burst_ = 0;
  size_t next_recorded_ = 0;
  RecordedIteration batch_;  // The latest,
  uint32_t left_ = 0;        // of which so many samples are not computed.
  uint32_t before_ = 0;      // Samples of the latest iteration.
};

// `work` for `samples` of `of`: rounded, at least 1.
Nanos Share(Nanos work, uint32_t samples, uint32_t of);

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_DEVICE_H_
