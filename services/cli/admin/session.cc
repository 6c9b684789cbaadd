#include "services/cli/admin/session.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/error_text.h"
#include "services/cli/admin/output/state_color.h"
#include "services/cli/one_line.h"

namespace paceline {

absl::Status OutputError(int error) {
  return absl::InternalError(
      absl::StrCat("cannot write the output: ", strerror(error)));
}

absl::Status Session::Configure(const CommonFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(format_,
                            ParseOutputFormat(flags.output, flags.has_csv));
  headers_ = !flags.no_headers;
  yes_ = flags.yes;
  PACELINE_ASSIGN_OR_RETURN(
      const ConfigFile config,
      ReadConfigFile(ConfigFilePath(console_.environment)));
  PACELINE_ASSIGN_OR_RETURN(
      connection_,
      ResolveConnection(flags.connection, console_.environment, config));
  return absl::OkStatus();
}

absl::StatusOr<AdminClient*> Session::Client() {
  if (client_ == nullptr) {
    PACELINE_ASSIGN_OR_RETURN(client_, ClientOf(connection_.address));
  }
  return client_.get();
}

Interruption& Session::interruption() {
  if (interruption_ == nullptr) interruption_ = console_.make_interruption();
  return *interruption_;
}

absl::StatusOr<std::unique_ptr<AdminClient>> Session::ClientOf(
    const std::string& address) {
  interruption();
  Connection connection = connection_;
  connection.address = address;
  return AdminClient::Create(std::move(connection), interruption_,
                             [this](absl::string_view text) { Note(text); });
}

absl::Status Session::Write(absl::string_view text) {
  return console_.out(text) ? absl::OkStatus() : OutputError(errno);
}

absl::Status Session::Print(const Printable& printable, bool headers) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            Render(printable, format_, headers && headers_));
  if (tabular() && console_.progress.color) return Write(PaintStates(text));
  const bool more =
      std::exchange(printed_, true) && format_ == OutputFormat::kYaml;
  return Write(absl::StrCat(more ? "---\n" : "", text));
}

absl::Status Session::PrintChanged(const google::protobuf::Message& message,
                                   absl::string_view line) {
  if (tabular()) return Write(absl::StrCat(line, "\n"));
  return Print({.messages = {&message}, .table = nullptr});
}

void Session::Note(absl::string_view text) {
  console_.err(absl::StrCat("paceline: ", OneLine(text), "\n"));
}

absl::Status Session::Confirm(absl::string_view question) {
  if (yes_ || !console_.can_ask) return absl::OkStatus();
  console_.err(absl::StrCat(question, " [y/N] "));
  std::string answer = console_.read_line().value_or("");
  absl::StripAsciiWhitespace(&answer);
  if (absl::EqualsIgnoreCase(answer, "y") ||
      absl::EqualsIgnoreCase(answer, "yes")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("not done: the answer was not yes");
}

ExitCode Session::End(const absl::Status& status, absl::string_view subject) {
  if (status.ok()) return ExitCode::kSuccess;
  if (absl::IsCancelled(status) && interruption_ != nullptr &&
      interruption_->signal() != 0) {
    return static_cast<ExitCode>(128 + interruption_->signal());
  }
  // As `head` ends, say: nothing is wrong that anybody could mend.
  if (status == OutputError(EPIPE)) return ExitCode::kFailed;
  console_.err(ErrorText(status, subject));
  // Somebody else's doing: a proxy that resets streams, say.
  if (absl::IsCancelled(status)) return ExitCode::kFailed;
  return ExitCodeOf(status);
}

ExitCode Session::ForEach(
    const std::vector<std::string>& names,
    const std::function<absl::Status(const std::string&)>& work) {
  ExitCode first = ExitCode::kSuccess;
  for (const std::string& name : names) {
    const absl::Status status = work(name);
    // If there is only one name, the error itself says what it is about.
    const ExitCode code = End(status, names.size() > 1 ? name : "");
    if (first == ExitCode::kSuccess) first = code;
    if (absl::IsCancelled(status)) break;
  }
  return first;
}

void AddCommonFlags(CLI::App& command, CommonFlags& flags,
                    const CommonChoice& choice) {
  flags.has_csv = choice.csv;
  if (choice.output) {
    command
        .add_option("-o,--output", flags.output,
                    choice.csv ? "Form of the output: table, wide, csv, json, "
                                 "yaml or name."
                               : "Form of the output: table, wide, json, yaml "
                                 "or name.")
        ->type_name("FORMAT")
        ->capture_default_str();
    command.add_flag("--no-headers", flags.no_headers,
                     "Leave the line of column names out of tables.");
  }
  if (choice.yes) {
    command.add_flag("-y,--yes", flags.yes,
                     "Do it without asking. Default: ask at a terminal.");
  }
  AddConnectionFlags(command, flags.connection);
}

}  // namespace paceline
