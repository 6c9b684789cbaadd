#ifndef PACELINE_COMMON_RPC_RPC_METRICS_H_
#define PACELINE_COMMON_RPC_RPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/status.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// How often each method of a process's services was called, what the calls came
// to and how long they took. A call that ends without a status, because its
// caller gave up, counts as CANCELLED. Methods of other services (reflection,
// health) count as "other". Thread-safe.
class RpcMetrics {
 public:
  // `services`: their full names, "paceline.v1.JobService". `registry` outlives
  // it.
  RpcMetrics(prometheus::Registry& registry,
             const std::vector<std::string>& services);

  // One call; its end is the end of this.
  class Call;
  std::unique_ptr<Call> Began(absl::string_view method);

  // Observes the calls of a server that is built with it. The metrics outlive
  // the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
  MakeInterceptors();

 private:
  struct Method {
    std::string name;  // "JobService/GetJob"
    prometheus::Counter* started;
    prometheus::Histogram* seconds;
  };

  void AddMethod(const std::string& path, const std::string& name);

  prometheus::Family<prometheus::Counter>& started_;
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  absl::flat_hash_map<std::string, Method> methods_;  // By "/service/method".
};

class RpcMetrics::Call {
 public:
  Call(RpcMetrics* metrics, const Method* method, absl::Time began)
      : metrics_(*metrics), method_(*method), began_(began) {}
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void SetCode(grpc::StatusCode code) { code_ = code; }

 private:
  RpcMetrics& metrics_;
  const Method& method_;
  const absl::Time began_;
  grpc::StatusCode code_ = grpc::StatusCode::CANCELLED;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_RPC_METRICS_H_
