#ifndef PACELINE_TESTS_SERVICES_SIMULATOR_SAMPLE_LEDGER_H_
#define PACELINE_TESTS_SERVICES_SIMULATOR_SAMPLE_LEDGER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// Follows every sample and every push of a virtual cluster: each sample of each
// epoch is counted once, and the servers apply exactly what is counted.
class SampleLedger : public ClusterObserver {
 public:
  explicit SampleLedger(const ClusterSpec& spec);

  void Decided(Nanos at, const RunOutput& output) override;
  void PushTaken(Nanos at, const Grant& grant, uint32_t samples) override;
  void Closed(Nanos at, const CloseCommand& close) override;

  // After the end. What is wrong; empty if nothing is.
  std::string Verdict() const;

 private:
  enum class Sample : uint8_t { kFree, kOut, kCounted };
  using PushKey = std::pair<WorkerId, Iteration>;

  void Move(const SampleRange& range, Sample from, Sample to);
  void Count(const PushCounted& counted);

  const uint32_t train_samples_;
  std::vector<Sample> samples_;
  std::map<WorkerId, Grant> last_;  // Of each worker.
  std::map<RoundId, std::vector<PushKey>> gathered_;
  std::set<PushKey> applied_;
  std::set<PushKey> counted_;  // Of those that pushed anything.
  std::string violation_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_SIMULATOR_SAMPLE_LEDGER_H_
