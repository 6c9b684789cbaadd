#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/log_growth.h"
#include "services/cli/admin/output/log_view.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

// A member tells all that it keeps each time, half a megabyte at most.
constexpr absl::Duration kBetweenQuestions = absl::Seconds(1);

struct MemberLogFlags : CommonFlags {
  std::string name;
  int32_t tail = 0;
  bool follow = false;
};

absl::Status PrintWhole(Session& session,
                        const google::protobuf::Message& response,
                        const LogLines& lines) {
  if (lines.empty() && session.tabular()) {
    session.Note("nothing has been logged");
  }
  return session.Print({.messages = {&response},
                        .whole = &response,
                        .text = [&](bool /*wide*/, bool /*headers*/) {
                          return LogText(lines);
                        }});
}

// Each line as it is, because there is no whole.
absl::Status PrintLines(Session& session,
                        const std::vector<const v1::LogLine*>& lines) {
  for (const v1::LogLine* line : lines) {
    PACELINE_RETURN_IF_ERROR(session.Print(
        {.messages = {line}, .text = [&](bool /*wide*/, bool /*headers*/) {
           LogLines one;
           *one.Add() = *line;
           return LogText(one);
         }}));
  }
  return absl::OkStatus();
}

// Until it is interrupted, or the member cannot be asked any more.
template <class Request, class Response>
absl::Status FollowLog(Session& session, const MemberLogFlags& flags,
                       Request request,
                       UnaryMethod<ClusterApi, Request, Response> method) {
  if (session.format() == OutputFormat::kName) {
    return absl::InvalidArgumentError(
        "-o name: lines have no names; use table, json or yaml");
  }
  Response before;
  for (bool first = true;; first = false) {
    PACELINE_ASSIGN_OR_RETURN(Response now, session.Call(method, request));
    std::vector<const v1::LogLine*> lines =
        LinesSince(before.lines(), now.lines());
    const auto tail = static_cast<size_t>(flags.tail);
    if (first && tail > 0 && lines.size() > tail) {
      lines.erase(lines.begin(), lines.end() - flags.tail);
    }
    PACELINE_RETURN_IF_ERROR(PrintLines(session, lines));
    before = std::move(now);
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    PACELINE_RETURN_IF_ERROR(client->Pause(kBetweenQuestions));
  }
}

// ReadWorkerLog and ReadServerLog are of one form.
template <class Request, class Response>
absl::Status ShowLog(Session& session, const MemberLogFlags& flags,
                     const absl::StatusOr<std::string>& name,
                     UnaryMethod<ClusterApi, Request, Response> method) {
  PACELINE_RETURN_IF_ERROR(name.status());
  if (flags.tail < 0) {
    return absl::InvalidArgumentError("--tail: must not be negative");
  }
  Request request;
  request.set_name(*name);
  if (flags.follow) return FollowLog(session, flags, request, method);
  request.set_tail(flags.tail);
  PACELINE_ASSIGN_OR_RETURN(const Response response,
                            session.Call(method, request));
  return PrintWhole(session, response, response.lines());
}

template <class Show>
void AddLogsCommand(CLI::App& parent, ChosenCommand& chosen,
                    const std::string& help, const std::string& noun,
                    const std::string& noun_help, Show show) {
  const auto logs =
      AddCommand<MemberLogFlags>(parent, "logs", help, chosen, show);
  logs.app->add_option(noun, logs.flags->name, noun_help)
      ->type_name("")
      ->required();
  logs.app
      ->add_option("--tail", logs.flags->tail,
                   "Print at most so many lines, the last ones. 0: all that "
                   "are kept.")
      ->type_name("N")
      ->capture_default_str();
  logs.app->add_flag("-f,--follow", logs.flags->follow,
                     "Go on with new lines until you end it, or the process is "
                     "gone.");
}

}  // namespace

void AddWorkerLogsCommand(CLI::App& worker, ChosenCommand& chosen) {
  AddLogsCommand(worker, chosen,
                 "Print the last lines that a worker and its program have "
                 "logged",
                 "WORKER", "The worker or evaluator: NAME or workers/NAME.",
                 [](Session& session, const MemberLogFlags& flags) {
                   return ShowLog(session, flags, WorkerName(flags.name),
                                  &ClusterApi::ReadWorkerLog);
                 });
}

void AddServerLogsCommand(CLI::App& server, ChosenCommand& chosen) {
  AddLogsCommand(server, chosen,
                 "Print the last lines that a parameter server has logged",
                 "SERVER", "The parameter server: NAME or servers/NAME.",
                 [](Session& session, const MemberLogFlags& flags) {
                   return ShowLog(session, flags, ServerName(flags.name),
                                  &ClusterApi::ReadServerLog);
                 });
}

}  // namespace paceline
