#include "services/cli/ui/cluster_calls.h"

#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status.h"
#include "google/protobuf/util/json_util.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/request_id.h"

namespace paceline {
namespace {

// Somebody sits before the page: it is told soon that nobody answers.
constexpr absl::Duration kPatience = absl::Seconds(10);

using Forward = std::function<absl::StatusOr<std::string>(AdminClient&,
                                                          const std::string&)>;

template <class Request>
absl::StatusOr<Request> ParseRequest(const std::string& body) {
  Request request;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(body, &request);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is no ", Request::descriptor()->name(), ": ",
                     std::string(parsed.message())));
  }
  return request;
}

template <class Api, class Request, class Response>
absl::StatusOr<std::string> Answer(AdminClient& client,
                                   UnaryMethod<Api, Request, Response> method,
                                   const Request& request) {
  PACELINE_ASSIGN_OR_RETURN(const Response response,
                            client.Call(method, request));
  return MessageToJson(response);
}

// A call that reads.
template <class Api, class Request, class Response>
Forward Reads(UnaryMethod<Api, Request, Response> method) {
  return [method](AdminClient& client,
                  const std::string& body) -> absl::StatusOr<std::string> {
    PACELINE_ASSIGN_OR_RETURN(const Request request,
                              ParseRequest<Request>(body));
    return Answer(client, method, request);
  };
}

// A call that changes something, at most once.
template <class Request>
Forward Changes(UnaryMethod<JobsApi, Request, v1::Job> method) {
  return [method](AdminClient& client,
                  const std::string& body) -> absl::StatusOr<std::string> {
    PACELINE_ASSIGN_OR_RETURN(Request request, ParseRequest<Request>(body));
    request.set_request_id(NewRequestId());
    return Answer(client, method, request);
  };
}

// Of all that can be updated the page changes the batches alone.
absl::StatusOr<std::string> UpdateBatching(AdminClient& client,
                                           const std::string& body) {
  PACELINE_ASSIGN_OR_RETURN(v1::UpdateJobRequest request,
                            ParseRequest<v1::UpdateJobRequest>(body));
  const auto& paths = request.update_mask().paths();
  if (paths.size() != 1 || paths.Get(0) != "spec.batching") {
    return absl::InvalidArgumentError(
        "the page updates spec.batching and nothing else");
  }
  request.set_request_id(NewRequestId());
  return Answer(client, &JobsApi::UpdateJob, request);
}

const std::map<std::string, Forward, std::less<>>& Methods() {
  static const auto* const kMethods =
      new std::map<std::string, Forward, std::less<>>{
          {"GetJob", Reads(&JobsApi::GetJob)},
          {"GetJobReport", Reads(&JobsApi::GetJobReport)},
          {"ListDecisions", Reads(&JobsApi::ListDecisions)},
          {"ListJobs", Reads(&JobsApi::ListJobs)},
          {"PauseJob", Changes(&JobsApi::PauseJob)},
          {"ResumeJob", Changes(&JobsApi::ResumeJob)},
          {"SwitchParadigm", Changes(&JobsApi::SwitchParadigm)},
          {"UpdateJob", &UpdateBatching}};
  return *kMethods;
}

}  // namespace

void ClusterCalls::Connect(std::optional<Connection> connection) {
  absl::MutexLock lock(&mu_);
  if (connection.has_value()) {
    connection->request_timeout =
        std::min(connection->request_timeout, kPatience);
  }
  connection_ = std::move(connection);
  ++number_;
  free_.clear();
  InterruptAll();
}

std::optional<Connection> ClusterCalls::connection() const {
  absl::MutexLock lock(&mu_);
  return connection_;
}

absl::StatusOr<std::string> ClusterCalls::Call(absl::string_view method,
                                               const std::string& body) {
  const auto found = Methods().find(method);
  if (found == Methods().end()) {
    return absl::NotFoundError("the page has no such call");
  }
  PACELINE_ASSIGN_OR_RETURN(std::shared_ptr<Line> line, Take());
  absl::StatusOr<std::string> answer = found->second(*line->client, body);
  if (!GiveBack(std::move(line)) && absl::IsCancelled(answer.status())) {
    return absl::UnavailableError("another cluster is shown from now on");
  }
  return answer;
}

absl::StatusOr<std::shared_ptr<ClusterCalls::Line>> ClusterCalls::Take() {
  absl::MutexLock lock(&mu_);
  if (stopped_) return absl::CancelledError("the page ends");
  if (!connection_.has_value()) {
    return absl::FailedPreconditionError("no coordinator runs at the moment");
  }
  if (free_.empty()) {
    auto line = std::make_shared<Line>();
    line->number = number_;
    line->interruption = std::make_shared<Interruption>();
    PACELINE_ASSIGN_OR_RETURN(
        line->client, AdminClient::Create(*connection_, line->interruption,
                                          [](absl::string_view) {}));
    free_.push_back(std::move(line));
  }
  busy_.push_back(std::move(free_.back()));
  free_.pop_back();
  return busy_.back();
}

bool ClusterCalls::GiveBack(std::shared_ptr<Line> line) {
  absl::MutexLock lock(&mu_);
  std::erase(busy_, line);
  if (line->number != number_) return false;
  free_.push_back(std::move(line));
  return true;
}

void ClusterCalls::InterruptAll() {
  for (const std::shared_ptr<Line>& line : busy_) {
    line->interruption->Interrupt(SIGTERM);
  }
}

void ClusterCalls::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
  InterruptAll();
}

}  // namespace paceline
