#ifndef PACELINE_TESTS_SERVICES_SIMULATOR_CLUSTER_TESTING_H_
#define PACELINE_TESTS_SERVICES_SIMULATOR_CLUSTER_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/simulation_result.h"

namespace paceline {

inline constexpr Nanos kSecond = 1'000'000'000;
inline constexpr Nanos kMillisecond = 1'000'000;
// Of SteadySpec.
inline constexpr uint32_t kSteadyBatch = 8;

// Workers w0, w1, ... with these iteration times in seconds, links that cost
// nothing, batches of kSteadyBatch, `iterations` per worker on average.
ClusterSpec SteadySpec(const std::vector<double>& seconds, int64_t iterations);

// The same for so many seconds; samples do not run out.
ClusterSpec TimedSpec(const std::vector<double>& seconds, double duration);

SimulationResult Simulate(const ClusterSpec& spec, const std::string& paradigm,
                          ClusterObserver* observer = nullptr);

std::vector<int64_t> PushesOf(const SimulationResult& result);

// Every paradigm that there is, with some variants.
std::vector<std::string> AllParadigms();

// All outputs of the core and all calls of the observer, a line each.
class HistoryWriter : public ClusterObserver {
 public:
  void Joined(Nanos at, WorkerId worker, size_t index) override;
  void Decided(Nanos at, const RunOutput& output) override;
  void Pulled(Nanos at, const Grant& grant) override;
  void Computed(Nanos at, const Grant& grant, uint32_t samples) override;
  void PushTaken(Nanos at, const Grant& grant, uint32_t samples,
                 PushReport& report) override;
  void Closed(Nanos at, const CloseCommand& close,
              std::optional<ClosedGradient>& gradient) override;
  void SnapshotTaken(Nanos at, const SnapshotCommand& taken,
                     MemberEvaluated& evaluated) override;

  const std::string& text() const { return text_; }

 private:
  void Add(Nanos at, const char* what, int64_t a, int64_t b, int64_t c);

  std::string text_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_SIMULATOR_CLUSTER_TESTING_H_
