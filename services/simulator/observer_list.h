#ifndef PACELINE_SERVICES_SIMULATOR_OBSERVER_LIST_H_
#define PACELINE_SERVICES_SIMULATOR_OBSERVER_LIST_H_

#include <vector>

#include "services/simulator/cluster_observer.h"

namespace paceline {

// Several observers as one, told in their order. They outlive it.
class ObserverList : public ClusterObserver {
 public:
  void Add(ClusterObserver* observer) { observers_.push_back(observer); }

  void Joined(Nanos at, WorkerId worker, size_t index) override {
    for (auto* observer : observers_) observer->Joined(at, worker, index);
  }
  void Given(Nanos at, const RunInput& input) override {
    for (auto* observer : observers_) observer->Given(at, input);
  }
  void Decided(Nanos at, const RunOutput& output) override {
    for (auto* observer : observers_) observer->Decided(at, output);
  }
  void Stepped(Nanos at, const RunCourse& course,
               const absl::Status& status) override {
    for (auto* observer : observers_) observer->Stepped(at, course, status);
  }
  void Pulled(Nanos at, const Grant& grant) override {
    for (auto* observer : observers_) observer->Pulled(at, grant);
  }
  void Computed(Nanos at, const Grant& grant, uint32_t samples) override {
    for (auto* observer : observers_) observer->Computed(at, grant, samples);
  }
  void BlockTaken(Nanos at, int server, const Grant& grant,
                  uint32_t samples) override {
    for (auto* observer : observers_) {
      observer->BlockTaken(at, server, grant, samples);
    }
  }
  void Performed(Nanos at, int server,
                 const NumberedCommand& command) override {
    for (auto* observer : observers_) observer->Performed(at, server, command);
  }
  void PushTaken(Nanos at, const Grant& grant, uint32_t samples) override {
    for (auto* observer : observers_) observer->PushTaken(at, grant, samples);
  }
  void IterationOver(Nanos at, const Grant& grant,
                     const IterationTimes& times) override {
    for (auto* observer : observers_) observer->IterationOver(at, grant, times);
  }
  void Gone(Nanos at, WorkerId worker) override {
    for (auto* observer : observers_) observer->Gone(at, worker);
  }
  void Closed(Nanos at, const CloseCommand& close) override {
    for (auto* observer : observers_) observer->Closed(at, close);
  }
  void SnapshotTaken(Nanos at, const SnapshotCommand& taken,
                     MemberEvaluated& evaluated) override {
    for (auto* observer : observers_) {
      observer->SnapshotTaken(at, taken, evaluated);
    }
  }

 private:
  std::vector<ClusterObserver*> observers_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_OBSERVER_LIST_H_
