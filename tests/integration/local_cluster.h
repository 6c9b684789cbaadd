#ifndef PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_
#define PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/run/job_run.h"
#include "tests/integration/report_log.h"

namespace paceline {

// A coordinator and its parameter servers in this process, over real gRPC on
// loopback. Workers are the test's: threads that run Worker, or processes that
// it may kill.
class LocalCluster {
 public:
  explicit LocalCluster(const v1::JobSpec& job);
  ~LocalCluster();

  // Where workers dial.
  const std::string& address() const;

  // Runs the job to its end.
  absl::Status Run();
  // Ends Run() soon.
  void Cancel();

  // After Run(): the "run" of the result report, null if it failed.
  nlohmann::json result() const;
  // What the coordinator reports.
  const ReportLog& reports() const;

  // After Run(): the final values of all tensors, as the servers hold them.
  absl::StatusOr<std::vector<std::vector<float>>> FinalWeights() const;

 private:
  struct Server;
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

// A job that is small and quick unless the test says otherwise.
v1::JobSpec SmallJob(const std::string& paradigm, uint32_t workers,
                     uint32_t servers);

// Three times longer under a sanitizer.
uint32_t TestLeaseMs();

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_
