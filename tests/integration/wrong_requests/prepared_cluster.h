#ifndef PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_PREPARED_CLUSTER_H_
#define PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_PREPARED_CLUSTER_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>

#include "protos/paceline/v1/jobs.pb.h"
#include "tests/integration/process_cluster.h"

namespace paceline {

// Processes with a job in every state that lasts, for requests that must not
// change anything:
//
//   namespaces/default/jobs/  all the four jobs that the quota allows, and two
//     done    SUCCEEDED
//     ended   CANCELLED, before it ran
//     fresh   PAUSED, before it ran
//     rests   PAUSED, with the checkpoint "mine" and the one of its pause
//     runs    RUNNING, for ever, after two switches
//     waits   PENDING, for workers of a pool that there is not
//   namespaces/crowded/jobs/
//     big     RUNNING; its parameters take all that the quota allows
//
// Workers w0 and w1 are busy, w2 is drained; the parameter server is s0.
// The request id kUsedRequestId created "waits".
class PreparedCluster {
 public:
  static constexpr char kUsedRequestId[] =
      "11111111-1111-4111-8111-111111111111";

  PreparedCluster();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const ProcessCluster& processes() const { return processes_; }

  // What a request can name that only the cluster knows:
  //   pause           the checkpoint that "rests" would go on from
  //   jobs_page, decisions_page, workers_page, audit_page: tokens of the second
  //                   page of one each, of namespaces/default and "runs"
  //   resume_future   the token of an event of "runs" that has not happened
  const std::map<std::string, std::string>& words() const { return words_; }

 private:
  void Call(const std::string& method, const google::protobuf::Message& request,
            google::protobuf::Message* response) const;
  v1::Job Create(const std::string& parent, const std::string& id,
                 const std::string& more) const;
  void Verb(const std::string& method, const std::string& job) const;
  v1::Job AwaitState(const std::string& name, v1::Job::State state) const;

  void MakeEndedJobs() const;
  void MakePausedJobs() const;
  void MakeRunningJobs() const;
  void MakeWaitingJob() const;
  void FindWords();

  ProcessCluster processes_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::map<std::string, std::string> words_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_PREPARED_CLUSTER_H_
