#include "services/cli/ui/ui_command.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/ui/page_server.h"

namespace paceline {
namespace {

struct UiFlags : CommonFlags {
  int64_t port = 0;
  std::string runs;
};

absl::Status CheckRuns(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("--runs ", folder, ": there is no such folder"));
}

// Says at once what is wrong with the flags, an address and credentials. Makes
// the interruption before there are threads.
absl::StatusOr<Interruption*> Begin(Session& session, const UiFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckInRange("--port", flags.port, 0, 65535));
  PACELINE_RETURN_IF_ERROR(CheckRuns(flags.runs));
  if (flags.runs.empty() || !session.connection().address.empty()) {
    PACELINE_RETURN_IF_ERROR(session.Client().status());
  }
  return &session.interruption();
}

absl::Status ServePage(Session& session, const UiFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const Interruption* const interruption,
                            Begin(session, flags));
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<PageServer> page,
      PageServer::Start(
          {.port = static_cast<int>(flags.port), .runs = flags.runs}));
  if (!session.connection().address.empty()) {
    page->ShowCluster(session.connection());
  }
  PACELINE_RETURN_IF_ERROR(session.Write(absl::StrCat(page->address(), "\n")));
  session.Note(
      "open this address in a browser on this machine; it has the right to "
      "change jobs in it, so give it to nobody. Ctrl-C ends the page");
  while (interruption->signal() == 0) {
    interruption->WaitUntil(absl::InfiniteFuture());
  }
  return absl::CancelledError("interrupted");
}

}  // namespace

void AddUiCommand(CLI::App& root, ChosenCommand& chosen) {
  const auto ui = AddCommand<UiFlags>(
      root, "ui",
      "Serve a page of the cluster's jobs to a browser on this machine", chosen,
      &ServePage, {.output = false});
  ui.app
      ->add_option("--port", ui.flags->port,
                   "TCP port of the page, on 127.0.0.1. 0: the system chooses "
                   "one.")
      ->type_name("PORT")
      ->capture_default_str();
  ui.app
      ->add_option("--runs", ui.flags->runs,
                   "Show the finished runs of `paceline local` in this folder, "
                   "too. Then no coordinator is needed. Default: none.")
      ->type_name("DIR");
}

}  // namespace paceline
