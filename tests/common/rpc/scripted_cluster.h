#ifndef PACELINE_TESTS_COMMON_RPC_SCRIPTED_CLUSTER_H_
#define PACELINE_TESTS_COMMON_RPC_SCRIPTED_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rpc/channel.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"

namespace paceline {

// A server whose GetWorker ends as the test says.
class ScriptedCluster : public v1::ClusterService::CallbackService {
 public:
  using Answer = std::function<absl::Status(const std::string& name)>;

  explicit ScriptedCluster(const ListenOptions& options = {},
                           Answer answer = {});
  ~ScriptedCluster() override;

  grpc::ServerUnaryReactor* GetWorker(grpc::CallbackServerContext* context,
                                      const v1::GetWorkerRequest* request,
                                      v1::Worker* reply) override;

  RpcServer& server() { return *listening_.server; }
  // A new connection to it.
  std::shared_ptr<grpc::Channel> Connect() const;

 private:
  const Answer answer_;
  ListeningServer listening_;
};

// Calls GetWorker, with `metadata_bytes` of metadata beside.
absl::Status GetWorker(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& name, size_t metadata_bytes = 0);

// Calls a method by its name with a serialized request; the answer's bytes.
absl::StatusOr<std::string> RawCall(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
    const std::string& request);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_RPC_SCRIPTED_CLUSTER_H_
