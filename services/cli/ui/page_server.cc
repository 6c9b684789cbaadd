#include "services/cli/ui/page_server.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bounded_json.h"
#include "common/job/paradigm_spec.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/cli/one_line.h"
#include "services/cli/plot/plot_page.h"
#include "services/cli/ui/page_files.h"

namespace paceline {
namespace {

// Calls that wait for a coordinator do not keep others from being made.
constexpr size_t kThreads = 8;
constexpr size_t kWaitingMax = 64;
// Far above any request of the page.
constexpr size_t kBodyBytesMax = size_t{64} << 10;
constexpr absl::Duration kAnswerTime = absl::Seconds(30);

constexpr absl::string_view kApi = "/api/";

// Nothing is loaded from anywhere else, no text becomes a script, and no other
// page shows this one in a frame.
constexpr char kContentSecurityPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

int HttpStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

// In one sentence: the message, or what is wrong with each field.
std::string Sentence(const absl::Status& status) {
  // gRPC says no more of a coordinator that ends.
  if (absl::IsCancelled(status)) return "the call was ended before its answer";
  std::vector<std::string> parts;
  for (const FieldViolation& violation : ViolationsOf(status)) {
    parts.push_back(absl::StrCat(violation.field, ": ", violation.description));
  }
  return OneLine(parts.empty() ? std::string(status.message())
                               : absl::StrJoin(parts, "; "));
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpAnswer WithHeaders(HttpAnswer answer) {
  answer.headers = {{"Content-Security-Policy", kContentSecurityPolicy},
                    {"Cache-Control", "no-store"},
                    {"Referrer-Policy", "no-referrer"},
                    {"X-Content-Type-Options", "nosniff"},
                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  return answer;
}

HttpAnswer JsonAnswer(const absl::StatusOr<std::string>& result) {
  HttpAnswer answer;
  answer.content_type = "application/json; charset=utf-8";
  if (result.ok()) {
    answer.body = *result;
    return answer;
  }
  const absl::Status& status = result.status();
  answer.status = HttpStatus(status.code());
  answer.body = Dump({{"error",
                       {{"code", absl::StatusCodeToString(status.code())},
                        {"reason", ReasonOf(status)},
                        {"message", Sentence(status)}}}});
  return answer;
}

HttpAnswer FileAnswer(absl::string_view path) {
  HttpAnswer answer;
  std::optional<PageFile> file = FindPageFile(path);
  if (!file.has_value()) {
    answer.status = 404;
    answer.body = "there is no such page\n";
    return answer;
  }
  answer.content_type = std::move(file->content_type);
  answer.body = std::move(file->text);
  return answer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(
    const PageOptions& options) {
  if (EChartsScript().empty() || EChartsScript().front().empty()) {
    return MissingECharts();
  }
  std::unique_ptr<PageServer> page(new PageServer(options.runs));
  HttpServer::Limits limits;
  limits.answer = kAnswerTime;
  limits.answers = kWaitingMax;
  limits.body_bytes = kBodyBytesMax;
  // A request that comes at once waits for it.
  absl::MutexLock lock(&page->mu_);
  PACELINE_ASSIGN_OR_RETURN(
      page->server_, HttpServer::Listen(
                         absl::StrCat("127.0.0.1:", options.port),
                         [serves = page.get()](const HttpRequest& request,
                                               HttpServer::Respond respond) {
                           serves->Handle(request, std::move(respond));
                         },
                         limits));
  page->access_.emplace(page->server_->port(), page->token_);
  return page;
}

PageServer::PageServer(const std::string& runs)
    : token_(NewPageToken()),
      queue_(std::make_unique<WorkQueue>(kThreads, kWaitingMax)) {
  if (!runs.empty()) runs_.emplace(runs);
}

PageServer::~PageServer() {
  server_.reset();
  cluster_.Stop();
  queue_.reset();
}

std::string PageServer::address() const {
  // Behind a '#', so that a browser keeps it to itself: it is in no request, no
  // log and no Referer.
  return absl::StrCat("http://127.0.0.1:", server_->port(), "/#token=", token_);
}

const PageAccess& PageServer::access() {
  absl::MutexLock lock(&mu_);
  return *access_;
}

void PageServer::Handle(const HttpRequest& request,
                        HttpServer::Respond respond) {
  const bool call = absl::StartsWith(request.path, kApi);
  const absl::Status allowed =
      call ? access().CheckCall(request) : access().CheckHost(request);
  if (!allowed.ok()) {
    return std::move(respond)(WithHeaders(JsonAnswer(allowed)));
  }
  if (!call) return std::move(respond)(WithHeaders(FileAnswer(request.path)));
  // A function that is copied holds no Respond, which cannot be.
  auto shared = std::make_shared<HttpServer::Respond>(std::move(respond));
  const bool taken =
      queue_->Submit([this, shared, method = request.path.substr(kApi.size()),
                      body = request.body] {
        std::move (*shared)(WithHeaders(JsonAnswer(Answer(method, body))));
      });
  if (!taken) {
    std::move (*shared)(WithHeaders(JsonAnswer(
        absl::ResourceExhaustedError("too many calls wait for an answer"))));
  }
}

absl::StatusOr<std::string> PageServer::Answer(absl::string_view method,
                                               const std::string& body) {
  if (method == "Session") return Dump(Session());
  if (method == "ListRuns") {
    return Dump(runs_.has_value() ? runs_->List()
                                  : Json{{"runs", Json::array()}});
  }
  if (method == "GetRun" && runs_.has_value()) {
    const Json request = ParseBoundedJson<Json>(body);
    PACELINE_ASSIGN_OR_RETURN(const Json run,
                              runs_->Get(TextField(request, "name")));
    return Dump(run);
  }
  return cluster_.Call(method, body);
}

Json PageServer::Session() const {
  Json session = {{"version", PACELINE_VERSION},
                  {"runs", runs_.has_value()},
                  {"cluster", nullptr},
                  {"paradigms", Json::array()}};
  for (const absl::string_view name : ParadigmNames()) {
    session["paradigms"].push_back(name);
  }
  session["paradigms"].push_back("auto");
  if (const std::optional<Connection> connection = cluster_.connection()) {
    session["cluster"] = {
        {"address", connection->address},
        {"parent",
         absl::StrCat("namespaces/",
                      connection->space_given ? connection->space : "-")}};
  }
  return session;
}

}  // namespace paceline
