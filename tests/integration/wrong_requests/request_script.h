#ifndef PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_REQUEST_SCRIPT_H_
#define PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_REQUEST_SCRIPT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "grpcpp/channel.h"

namespace paceline {

// One request of a script:
//   # Comments, and then
//   JobService/GetJob
//   name: "namespaces/default/jobs/${a*64}"
// The request is in Protobuf's text format. ${a*64} is 64 times "a", ${NAME} a
// word of the cluster's. Instead of a request, "bytes: ff 00" are sent as they
// are.
class RequestScript {
 public:
  RequestScript(std::shared_ptr<grpc::Channel> channel,
                std::map<std::string, std::string> words)
      : channel_(std::move(channel)), words_(std::move(words)) {}

  // Calls it and says what came back, in words of the script:
  //   NOT_FOUND RESOURCE_NOT_FOUND
  //   Job "namespaces/default/jobs/x" does not exist; ...
  //   resource: paceline.v1.Job namespaces/default/jobs/x
  // which are the code, the ErrorInfo's reason, the message, and what the other
  // details name. A line with "error:" if the block cannot be understood or the
  // request was taken.
  std::string Run(const std::string& block) const;

  // "JobService/GetJob"; empty if the block names none.
  static std::string MethodOf(absl::string_view block);

 private:
  std::string Expand(std::string text) const;
  std::string Call(const std::string& method, const std::string& bytes) const;

  const std::shared_ptr<grpc::Channel> channel_;
  const std::map<std::string, std::string> words_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_REQUEST_SCRIPT_H_
