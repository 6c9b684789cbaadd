#ifndef PACELINE_SERVICES_CLI_ADMIN_SESSION_H_
#define PACELINE_SERVICES_CLI_ADMIN_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/console.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/exit_code.h"

namespace paceline {

// The flags that every command has.
struct CommonFlags {
  ConnectionFlags connection;
  std::string output = "table";
  bool no_headers = false;
  bool yes = false;
};

// What a command ends with whose data nobody takes.
absl::Status NobodyReads();

// One run of one command: its surroundings, its connection, what it prints and
// how it ends. Used by one thread.
class Session {
 public:
  explicit Session(Console console) : console_(std::move(console)) {}

  // Reads flags, environment and config file.
  absl::Status Configure(const CommonFlags& flags);

  // To the coordinator; opened at the first call.  REQUIRES: Configure().
  absl::StatusOr<AdminClient*> Client();

  // What interrupts work that needs no server.
  absl::StatusOr<std::shared_ptr<Waker>> GetWaker();

  const Console& console() const { return console_; }
  const Connection& connection() const { return connection_; }
  OutputFormat format() const { return format_; }

  // Data; INTERNAL if nobody takes it.
  absl::Status Write(absl::string_view text);
  absl::Status Print(const Printable& printable);
  // The first line of a watch has headers, the others have not.
  absl::Status Print(const Printable& printable, bool headers);
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
  std::shared_ptr<Waker> waker_;
  std::unique_ptr<AdminClient> client_;
};

// Which of the common flags make sense for a command.
struct CommonChoice {
  bool output = true;
  bool yes = false;
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

// A command whose flags are a `Flags`, which derives from CommonFlags. The
// caller adds its own flags to the result, which live as long as it does.
template <class Flags>
struct AddedCommand {
  CLI::App* app;
  std::shared_ptr<Flags> flags;
};

template <class Flags>
AddedCommand<Flags> AddCommand(CLI::App& parent, const std::string& name,
                               const std::string& help, ChosenCommand& chosen,
                               const CommonChoice& choice,
                               ExitCode (*run)(Session&, const Flags&)) {
  CLI::App* command = parent.add_subcommand(name, help);
  auto flags = std::make_shared<Flags>();
  AddCommonFlags(*command, *flags, choice);
  command->callback([&chosen, flags, run] {
    chosen.Choose([&chosen, flags, run] {
      Session& session = chosen.session();
      const absl::Status ready = session.Configure(*flags);
      return ready.ok() ? run(session, *flags) : session.End(ready);
    });
  });
  return {command, std::move(flags)};
}

// Adds a command that needs no connection, and so none of its flags.
template <class Flags>
AddedCommand<Flags> AddPlainCommand(
    CLI::App& parent, const std::string& name, const std::string& help,
    ChosenCommand& chosen, absl::Status (*run)(Session&, const Flags&)) {
  CLI::App* command = parent.add_subcommand(name, help);
  auto flags = std::make_shared<Flags>();
  command->callback([&chosen, flags, run] {
    chosen.Choose([&chosen, flags, run] {
      return chosen.session().End(run(chosen.session(), *flags));
    });
  });
  return {command, std::move(flags)};
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_SESSION_H_
