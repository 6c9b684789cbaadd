// What the fleet does for those who want to read its members' logs.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

absl::Status TooOld(const std::string& name, absl::string_view version) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          name, " does not tell its log: its program is of version ",
          version.empty() ? "unknown" : version,
          ". Read its standard error where it runs")),
      "LOG_NOT_TOLD", {{"name", name}});
}

absl::Status Absent(const std::string& name) {
  return WithReason(
      absl::UnavailableError(absl::StrCat(
          name,
          " has no connection at present. It is back within its lease, or is "
          "given up then: ask again")),
      "MEMBER_ABSENT", {{"name", name}});
}

// The one of that name; of several, whose sessions are ending, the last.
template <class Entries>
auto FindNamed(const Entries& entries, const std::string& name) {
  auto found = entries.end();
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    if (it->second.hello.name() == name) found = it;
  }
  return found;
}

// What a question goes to.
template <class Command>
struct Asked {
  uint64_t member = 0;
  std::shared_ptr<OutgoingStream<Command>> stream;
};

template <class Command, class Entries>
absl::StatusOr<Asked<Command>> FindAsked(const Entries& entries,
                                         const std::string& plain,
                                         const std::string& name,
                                         absl::string_view type,
                                         const GoneMembers& gone) {
  const auto it = FindNamed(entries, plain);
  if (it == entries.end()) return gone.NotConnected(type, name);
  const auto& [member, entry] = *it;
  if (!entry.hello.tells_log()) return TooOld(name, entry.hello.version());
  std::shared_ptr<OutgoingStream<Command>> stream = entry.stream.lock();
  if (stream == nullptr || !stream->connected()) return Absent(name);
  return Asked<Command>{member, std::move(stream)};
}

template <class Command>
void SendQuestion(LogQuestions& questions,
                  const absl::StatusOr<Asked<Command>>& asked,
                  const std::string& name, uint32_t lines,
                  LogQuestions::Answered answered) {
  if (!asked.ok()) return answered(asked.status());
  const auto number = questions.Ask(asked->member, name, std::move(answered));
  if (!number.has_value()) return;
  Command command;
  command.mutable_tell_log()->set_question(*number);
  command.mutable_tell_log()->set_lines(lines);
  asked->stream->Send(std::move(command));
}

}  // namespace

void Fleet::AskWorkerForLog(const std::string& worker, uint32_t lines,
                            LogQuestions::Answered answered) {
  const std::string name = FormatWorkerName(worker);
  absl::StatusOr<Asked<v1::WorkerCommand>> asked;
  {
    absl::MutexLock lock(&mu_);
    asked = FindAsked<v1::WorkerCommand>(workers_, worker, name, kWorkerType,
                                         logs_.gone());
  }
  SendQuestion(logs_, asked, name, lines, std::move(answered));
}

void Fleet::AskServerForLog(const std::string& server, uint32_t lines,
                            LogQuestions::Answered answered) {
  const std::string name = FormatServerName(server);
  absl::StatusOr<Asked<v1::ServerCommand>> asked;
  {
    absl::MutexLock lock(&mu_);
    asked = FindAsked<v1::ServerCommand>(servers_, server, name, kServerType,
                                         logs_.gone());
  }
  SendQuestion(logs_, asked, name, lines, std::move(answered));
}

}  // namespace paceline
