#include "tests/services/simulator/cluster_testing.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

ClusterSpec SteadySpec(const std::vector<double>& seconds, int64_t iterations) {
  ClusterSpec spec;
  for (size_t i = 0; i < seconds.size(); ++i) {
    WorkerSpec worker;
    worker.name = absl::StrCat("w", i);
    worker.device.iteration = std::llround(seconds[i] * 1e9);
    spec.workers.push_back(worker);
  }
  spec.run.batch_size = kSteadyBatch;
  spec.train_samples =
      static_cast<uint32_t>(kSteadyBatch * seconds.size() * iterations);
  return spec;
}

ClusterSpec TimedSpec(const std::vector<double>& seconds, double duration) {
  ClusterSpec spec = SteadySpec(seconds, 1);
  spec.train_samples = kSteadyBatch << 20;
  spec.settings.stop.epochs = 1 << 20;
  spec.samples_end = false;
  spec.end = std::llround(duration * 1e9);
  return spec;
}

SimulationResult Simulate(const ClusterSpec& spec, const std::string& paradigm,
                          ClusterObserver* observer) {
  ClusterSpec cluster = spec;
  cluster.run.paradigm = *ParseParadigm(paradigm);
  return VirtualCluster(&cluster, {observer}).Run();
}

std::vector<int64_t> PushesOf(const SimulationResult& result) {
  std::vector<int64_t> pushes;
  for (const WorkerResult& worker : result.workers) {
    pushes.push_back(worker.pushes);
  }
  return pushes;
}

std::vector<std::string> AllParadigms() {
  return {"bsp",
          "asp",
          "asp:staleness_weight=inverse,staleness_cap=20",
          "ssp:s=0",
          "ssp:s=3",
          "dssp:lower=3,upper=15",
          "dssp:lower=1,upper=4,mode=exact,interval=busy",
          "dssp:lower=1,upper=4,mode=bounded,fastest=within:2",
          "cgp",
          "cgp:stale_weight=inverse,s_max=6",
          "saps:mode=refresh",
          "saps:mode=damp",
          "saps:mode=drop",
          "saps:sync_every=16",
          "ksync:k=2",
          "kbatchsync:k=2",
          "backup:b=1",
          "kasync:k=2",
          "kbatchasync:k=2",
          "kbatchsync:k=auto",
          "psp:beta=2,s=3",
          "elastic",
          "abs",
          "syncswitch:first=bsp,then=asp,at=0.5,straggler=leave",
          "syncswitch:first=bsp,then=asp,at=0.5,straggler=drop"};
}

void HistoryWriter::Add(Nanos at, const char* what, int64_t a, int64_t b,
                        int64_t c) {
  absl::StrAppend(&text_, at, " ", what, " ", a, " ", b, " ", c, "\n");
}

void HistoryWriter::Joined(Nanos at, WorkerId worker, size_t index) {
  Add(at, "joined", ToNumber(worker), static_cast<int64_t>(index), 0);
}

void HistoryWriter::Decided(Nanos at, const RunOutput& output) {
  Add(at, "output", static_cast<int64_t>(output.index()), 0, 0);
  if (const auto* recorded = std::get_if<Recorded>(&output)) {
    absl::StrAppend(&text_, Render(recorded->decision), "\n");
  }
}

void HistoryWriter::Pulled(Nanos at, const Grant& grant) {
  Add(at, "pulled", ToNumber(grant.worker), grant.iteration,
      grant.base_version);
}

void HistoryWriter::Computed(Nanos at, const Grant& grant, uint32_t samples) {
  Add(at, "computed", ToNumber(grant.worker), grant.iteration, samples);
}

void HistoryWriter::PushTaken(Nanos at, const Grant& grant, uint32_t samples,
                              PushReport& /*report*/) {
  Add(at, "taken", ToNumber(grant.worker), grant.iteration, samples);
}

void HistoryWriter::Closed(Nanos at, const CloseCommand& close,
                           std::optional<ClosedGradient>& /*gradient*/) {
  Add(at, "closed", close.closing, 0, 0);
}

void HistoryWriter::SnapshotTaken(Nanos at, const SnapshotCommand& taken,
                                  MemberEvaluated& /*evaluated*/) {
  Add(at, "snapshot", taken.snapshot, taken.samples, taken.last ? 1 : 0);
}

}  // namespace paceline
