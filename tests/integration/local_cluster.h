#ifndef PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_
#define PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// A coordinator and its parameter servers in this process, over real gRPC on
// loopback, with a store in memory, checkpoints and journals of runs in a
// temporary folder.
// Workers are the test's: threads that run Worker, or processes that it may
// kill.
class LocalCluster {
 public:
  // `servers` of them; without any evaluator.
  explicit LocalCluster(uint32_t servers, bool journals = true);
  ~LocalCluster();

  // Where workers dial, and clients of the admin API.
  const std::string& address() const;

  // Runs the job to its end, OK if it has succeeded.
  absl::Status Run(const v1::JobSpec& job);
  // Ends Run() soon.
  void Cancel();

  // Of the last Run(): the report's JSON, null if it failed.
  nlohmann::json result() const;
  std::vector<v1::Decision> decisions() const;
  // Whether something like that has happened to the job, or does before
  // `timeout` ends.
  bool Await(const std::function<bool(const v1::WatchJobResponse&)>& such,
             absl::Duration timeout) const;

  // After Run(): the final values of all tensors, as the last checkpoint has
  // them.
  absl::StatusOr<std::vector<std::vector<float>>> FinalWeights() const;

 private:
  struct Server;
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

// A job that is small and quick unless the test says otherwise.
v1::JobSpec SmallJob(const std::string& paradigm, uint32_t workers);

// Three times longer under a sanitizer.
absl::Duration TestLease();

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_LOCAL_CLUSTER_H_
