#ifndef PACELINE_SERVICES_SIMULATOR_TIMELINE_H_
#define PACELINE_SERVICES_SIMULATOR_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/simulator/cluster_observer.h"
#include "services/simulator/nanos.h"

namespace paceline {

// What a worker's time goes into.
enum class WorkerPhase : uint8_t {
  kAbsent,   // Not there: before it joins, and after it left or crashed.
  kWait,     // For a grant, or for the plan of its push.
  kPull,     // What a server parks it for included.
  kCompute,  // What is given up unfinished included.
  kPush,
};

// Records what each worker of a VirtualCluster does, moment by moment, from the
// beginning of the run up to a limit: pictures are drawn of it. Workers go by
// index. Thread-compatible.
class Timeline : public ClusterObserver {
 public:
  struct Span {
    WorkerPhase phase = WorkerPhase::kAbsent;
    Nanos length = 0;  // Above 0.

    friend bool operator==(const Span&, const Span&) = default;
  };
  // Spans without holes: each begins where the one before it ends, the first at
  // 0. Two of one phase may be neighbours, as those of two iterations.
  using Row = std::vector<Span>;

  // Recording ends when there are `spans_max` spans, at one moment for all
  // workers: what is under way then is still recorded up to that moment, which
  // makes a few spans more for each worker.
  Timeline(size_t workers, size_t spans_max);

  void Joined(Nanos at, WorkerId worker, size_t index) override;
  void IterationOver(Nanos at, const Grant& grant,
                     const IterationTimes& times) override;
  void Gone(Nanos at, WorkerId worker) override;

  const std::vector<Row>& rows() const { return rows_; }
  // Where recording ended: at the limit, or with the last that happened. What a
  // row is short of it, its worker was absent.
  Nanos end() const { return end_; }
  // The limit ended it.
  bool full() const { return full_; }

 private:
  // Worker `index` was in `phase` since its row's end.
  void Extend(size_t index, WorkerPhase phase, Nanos until);
  // `at` was recorded.
  void Reach(Nanos at);
  size_t IndexOf(WorkerId worker) const { return indices_[ToNumber(worker)]; }

  const size_t spans_max_;
  std::vector<Row> rows_;
  std::vector<Nanos> row_ends_;
  std::vector<size_t> indices_;  // By WorkerId.
  size_t spans_ = 0;
  Nanos end_ = 0;
  bool full_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_TIMELINE_H_
