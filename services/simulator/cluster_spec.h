#ifndef PACELINE_SERVICES_SIMULATOR_CLUSTER_SPEC_H_
#define PACELINE_SERVICES_SIMULATOR_CLUSTER_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/job/batched_paradigm.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/simulator/device.h"
#include "services/simulator/faults.h"
#include "services/simulator/nanos.h"

namespace paceline {

class RunCourse;

// A network link. Every message takes `latency`, one way; bulk takes its bytes
// over the bandwidth on top.
struct LinkSpec {
  Nanos latency = 0;
  double bytes_per_second = 0;  // 0: infinitely many.
};

struct WorkerSpec {
  std::string name;
  DeviceSpec device;
  // To the coordinator and to each server. The servers send and take equal
  // parts of the model at the same time.
  LinkSpec link;
  // It is another iteration in flight of this worker, which is an earlier one
  // and stands for itself. It computes on that one's device, in turn, and its
  // own `device` has no meaning. Its transfers take turns on that one's link,
  // too, unless servers share links or it is a whole run. Nothing: it stands
  // for itself.
  std::optional<size_t> of = std::nullopt;
  // Loading takes no time: what is reserved only comes to it in another order.
  SampleWishes wishes = {.extends = true};
};

// What keeps each server busy. All servers are alike. A recorded push or pull
// has its part of this in it, and bypasses it. Not of a whole run.
struct ServerSpec {
  // In each direction, for all workers together: those that push at the same
  // time get equal parts of it, and so do those that pull. 0: infinitely many.
  double link_bytes_per_second = 0;
  // A server serves pushes, pulls and closings one after another, in the order
  // in which they arrive. It takes each push and sends each pull at the first
  // of these. It makes an update for each push that is applied at once, and one
  // for each closing, at the second, and takes `update` besides. 0: that takes
  // no time.
  double copy_bytes_per_second = 0;
  double apply_bytes_per_second = 0;
  Nanos update = 0;
};

// Something that happens to a worker from outside.
struct MembershipChange {
  enum class Kind : uint8_t {
    kJoin,   // Registers. A worker that first joins later is not there before.
    kLeave,  // Says good-bye: flushes a push under way, drops other work.
    kCrash,  // Falls silent; its lease has to end.
  };
  Kind kind = Kind::kJoin;
  size_t worker = 0;  // Index into ClusterSpec::workers.
  Nanos at = 0;
};

// The paradigm changes when a share of the run is over: of the samples, or,
// where they have no end, of the time.
struct PlannedSwitch {
  double share = 0;  // In [0, 1].
  ParadigmSpec paradigm;
};

// Chooses the paradigm while the training goes on.
class ClusterPilot {
 public:
  virtual ~ClusterPilot() = default;

  struct Answer {
    std::optional<BatchedParadigm> to;  // To be switched to.
    std::string reason;
    Nanos again_after = 1;  // At least 1.
  };
  // Is asked when the training begins, and then as each answer says.
  virtual Answer Look(Nanos now, const RunCourse& course) = 0;
};

// This is what is simulated.
struct ClusterSpec {
  // One epoch, and nothing is evaluated.
  ClusterSpec() {
    run.evaluate = false;
    settings.stop.epochs = 1;
  }

  std::vector<WorkerSpec> workers;
  // Changes of one worker are sorted by time and alternate: it joins when it
  // is not there, leaves or crashes when it is. Somebody is there at 0.
  std::vector<MembershipChange> changes;
  std::vector<PlannedSwitch> switches;  // Sorted by share.
  // Outlives the cluster; not in a whole run. Null: nobody.
  ClusterPilot* pilot = nullptr;

  // These are the job's. The cluster itself gives run.servers and run.switches.
  // Checkpoints, starting points and limits of seconds need a whole run.
  CourseOptions run;
  RunSettings settings;
  int servers = 1;
  ServerSpec server;           // Each of them.
  uint32_t train_samples = 0;  // Per epoch; at least 1.
  bool samples_end = true;     // False: there are more than are ever trained.
  uint32_t micro_batch = 0;    // 0: the whole batch.
  int64_t model_bytes = 0;
  Nanos server_latency = 0;  // Between coordinator and servers.

  // The run from its opening to its end, and not its training alone: members
  // come and load, somebody writes the starting weights, evaluators evaluate,
  // each server carries out commands and takes blocks in its own time,
  // checkpoints are written, people give orders. `faults` says how long that
  // takes and what goes wrong. Those of `changes` who join later come then.
  bool whole_run = false;
  Faults faults;
  RunStart start;  // Its tensors are the cluster's affair.
  // Blocks of the model on each server, of which some has one; empty: one each.
  std::vector<uint32_t> server_blocks = {};

  // Pushes that the coordinator hears of until then count. kNever: no end.
  Nanos end = kNever;
  uint64_t seed = 1;
};

// The model that every worker says that it has. How large one is, only the
// links feel (ClusterSpec::model_bytes).
inline WorkerModel ModelOf(const ClusterSpec& spec) {
  return {{{"weights", {10, 4}, 40}, {"mean", {4}, 4, TensorKind::kStatistic}},
          spec.train_samples};
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_CLUSTER_SPEC_H_
