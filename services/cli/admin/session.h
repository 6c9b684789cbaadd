#ifndef PACELINE_SERVICES_CLI_ADMIN_SESSION_H_
#define PACELINE_SERVICES_CLI_ADMIN_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/console.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/exit_code.h"

namespace paceline {

// The flags that every command has.
struct CommonFlags {
  ConnectionFlags connection;
  std::string output = "table";
  bool has_csv = false;  // Whether `output` may be csv.
  bool no_headers = false;
  bool yes = false;
};

// What a command ends with whose data could not be written, by errno. Of EPIPE,
// nobody reads it, Session::End() says nothing.
absl::Status OutputError(int error);

// What is added to a line about what was only checked.
inline absl::string_view DryRunMark(bool dry_run) {
  return dry_run ? " (dry run)" : "";
}

// One run of one command: its surroundings, its connection, what it prints and
// how it ends. Used by one thread.
class Session {
 public:
  explicit Session(Console console) : console_(std::move(console)) {}

  // Reads flags, environment and config file.
  absl::Status Configure(const CommonFlags& flags);

  // To the coordinator; opened at the first call.  REQUIRES: Configure().
  absl::StatusOr<AdminClient*> Client();

  // What asks the command to end. The first call is before there are threads;
  // Client() and ClientOf() make it, too.
  Interruption& interruption();

  // To the coordinator at one of the addresses.  REQUIRES: Configure().
  absl::StatusOr<std::unique_ptr<AdminClient>> ClientOf(
      const std::string& address);

  // As AdminClient::Call() and ListAll(), with Client().
  template <class Api, class Request, class Response>
  absl::StatusOr<Response> Call(UnaryMethod<Api, Request, Response> method,
                                const std::type_identity_t<Request>& request) {
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, Client());
    return client->Call(method, request);
  }
  template <class Api, class Request, class Response>
  absl::StatusOr<Response> List(UnaryMethod<Api, Request, Response> method,
                                const std::type_identity_t<Request>& request,
                                int64_t limit = 0) {
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, Client());
    return ListAll(*client, method, request, limit);
  }

  // Deletes `subject`, "job/mnist", and says so.
  template <class Api, class Request>
  absl::Status Delete(UnaryMethod<Api, Request, google::protobuf::Empty> method,
                      const std::type_identity_t<Request>& request,
                      absl::string_view subject) {
    const bool dry_run = request.validate_only();
    const absl::Status deleted = Call(method, request).status();
    if (absl::IsNotFound(deleted) && client_ != nullptr &&
        client_->repeated() && !dry_run) {
      // By the earlier try, or it has never been there: nobody can tell.
      return Write(absl::StrCat(subject, " is not there any more\n"));
    }
    PACELINE_RETURN_IF_ERROR(deleted);
    return Write(absl::StrCat(subject, " deleted", DryRunMark(dry_run), "\n"));
  }

  const Console& console() const { return console_; }
  const Connection& connection() const { return connection_; }
  // The full name of a job that somebody typed (resource_name.h).
  absl::StatusOr<std::string> JobName(absl::string_view typed) const {
    return paceline::JobName(connection_.space, typed);
  }
  OutputFormat format() const { return format_; }
  // Whether people read what is printed.
  bool tabular() const {
    return format_ == OutputFormat::kTable || format_ == OutputFormat::kWide;
  }

  // Data; INTERNAL if nobody takes it.
  absl::Status Write(absl::string_view text);
  // The first line of a watch has headers, the others have not.
  absl::Status Print(const Printable& printable, bool headers = true);
  // Resources, where -o says so in the table to_table(resources, wide, now);
  // `whole` is the list that they are in, if any.
  template <class Resource, class ToTable>
  absl::Status PrintAll(const std::vector<const Resource*>& resources,
                        const google::protobuf::Message* whole,
                        const ToTable& to_table, bool headers = true) {
    const auto table = [&](bool wide) {
      return to_table(resources, wide, console_.now());
    };
    return Print({.messages = {resources.begin(), resources.end()},
                  .whole = whole,
                  .table = table},
                 headers);
  }
  // One resource that has changed: "job/mnist created", or as -o says.
  absl::Status PrintChanged(const google::protobuf::Message& message,
                            absl::string_view line);

  // "paceline: TEXT" on standard error.
  void Note(absl::string_view text);

  // OK if somebody says yes, or nobody can be asked, or --yes was given;
  // FAILED_PRECONDITION otherwise.
  absl::Status Confirm(absl::string_view question);

  // Tells the error and gives the exit code; success if there is none. An
  // interruption is not told.
  ExitCode End(const absl::Status& status, absl::string_view subject = "");

  // Does it for each name, goes on after errors, and ends with the first.
  ExitCode ForEach(const std::vector<std::string>& names,
                   const std::function<absl::Status(const std::string&)>& work);

 private:
  const Console console_;
  Connection connection_;
  OutputFormat format_ = OutputFormat::kTable;
  bool headers_ = true;
  bool yes_ = false;
  bool printed_ = false;  // YAML documents need something between them.
  std::shared_ptr<Interruption> interruption_;
  std::unique_ptr<AdminClient> client_;
};

// Which of the common flags make sense for a command.
struct CommonChoice {
  bool output = true;
  bool yes = false;
  bool csv = false;
};

void AddCommonFlags(CLI::App& command, CommonFlags& flags,
                    const CommonChoice& choice);

// The command that was found on the command line, to be run after parsing.
class ChosenCommand {
 public:
  explicit ChosenCommand(Console console) : session_(std::move(console)) {}

  Session& session() { return session_; }
  bool chosen() const { return run_ != nullptr; }
  ExitCode Run() { return run_(); }
  void Choose(std::function<ExitCode()> run) { run_ = std::move(run); }

 private:
  Session session_;
  std::function<ExitCode()> run_;
};

// A command whose flags are a `Flags`. The caller adds its own flags to the
// result, which live as long as it does.
template <class Flags>
struct AddedCommand {
  CLI::App* app;
  std::shared_ptr<Flags> flags;
};

// Calls run(session, flags), which returns an ExitCode or a Status; one that
// also takes a name is called with each of `flags.names`.
template <class Flags, class Run>
ExitCode RunCommand(Session& session, const Flags& flags, const Run& run) {
  if constexpr (std::is_invocable_v<Run, Session&, const Flags&,
                                    const std::string&>) {
    return session.ForEach(flags.names, [&](const std::string& name) {
      return run(session, flags, name);
    });
  } else if constexpr (std::is_same_v<
                           std::invoke_result_t<Run, Session&, const Flags&>,
                           ExitCode>) {
    return run(session, flags);
  } else {
    return session.End(run(session, flags));
  }
}

// Adds a command that needs no connection, and so none of its flags; `run` as
// RunCommand() takes it.
template <class Flags, class Run>
AddedCommand<Flags> AddPlainCommand(CLI::App& parent, const std::string& name,
                                    const std::string& help,
                                    ChosenCommand& chosen, Run run) {
  CLI::App* command = parent.add_subcommand(name, help);
  auto flags = std::make_shared<Flags>();
  command->callback([&chosen, flags, run] {
    chosen.Choose([&chosen, flags, run] {
      return RunCommand(chosen.session(), *flags, run);
    });
  });
  return {command, std::move(flags)};
}

// Adds a command that may talk to the coordinator: its `Flags` derive from
// CommonFlags.
template <class Flags, class Run>
AddedCommand<Flags> AddCommand(CLI::App& parent, const std::string& name,
                               const std::string& help, ChosenCommand& chosen,
                               Run run, const CommonChoice& choice = {}) {
  const AddedCommand<Flags> command = AddPlainCommand<Flags>(
      parent, name, help, chosen, [run](Session& session, const Flags& flags) {
        const absl::Status ready = session.Configure(flags);
        return ready.ok() ? RunCommand(session, flags, run)
                          : session.End(ready);
      });
  AddCommonFlags(*command.app, *command.flags, choice);
  return command;
}

// Pointers to the elements, as Printable takes them.
template <class Resource>
std::vector<const Resource*> Pointers(
    const google::protobuf::RepeatedPtrField<Resource>& resources) {
  return {resources.pointer_begin(), resources.pointer_end()};
}

// Gets each of the names with get(name), goes on after errors, and hands
// pointers to what was found, if anything, to print(). Ends with the first
// error.
template <class Get, class Print>
ExitCode PrintEach(Session& session, const std::vector<std::string>& names,
                   const Get& get, const Print& print) {
  using Found = std::invoke_result_t<Get, const std::string&>;
  google::protobuf::RepeatedPtrField<typename Found::value_type> found;
  const ExitCode code = session.ForEach(names, [&](const std::string& name) {
    PACELINE_ASSIGN_OR_RETURN(*found.Add(), get(name));
    return absl::OkStatus();
  });
  const ExitCode printed =
      found.empty() ? ExitCode::kSuccess : session.End(print(Pointers(found)));
  return code != ExitCode::kSuccess ? code : printed;
}

// Looks at list(), a response, every two seconds and hands pointers to what has
// changed since the last look to print(changed, headers), until something
// fails or is interrupted.
template <class List, class Print>
absl::Status WatchChanges(Session& session, const List& list,
                          const Print& print) {
  using Response = typename std::invoke_result_t<List>::value_type;
  using Resource = typename std::remove_pointer_t<decltype(ResourcesOf(
      std::declval<Response&>()))>::value_type;
  std::map<std::string, Resource> seen;
  bool headers = true;
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(Response response, list());
    std::vector<const Resource*> changed;
    for (const Resource& resource : *ResourcesOf(response)) {
      Resource& last = seen[resource.name()];
      if (google::protobuf::util::MessageDifferencer::Equals(last, resource)) {
        continue;
      }
      last = resource;
      changed.push_back(&resource);
    }
    if (!changed.empty()) {
      PACELINE_RETURN_IF_ERROR(print(changed, std::exchange(headers, false)));
    }
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    PACELINE_RETURN_IF_ERROR(client->Pause(absl::Seconds(2)));
  }
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_SESSION_H_
