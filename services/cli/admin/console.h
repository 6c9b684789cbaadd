#ifndef PACELINE_SERVICES_CLI_ADMIN_CONSOLE_H_
#define PACELINE_SERVICES_CLI_ADMIN_CONSOLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/admin/interruption.h"
#include "services/cli/admin/typed_keys.h"
#include "services/cli/progress_printer.h"

namespace paceline {

// What a command sees of the world around it; tests put their own there.
struct Console {
  // Data; false, with errno, if it cannot be written.
  std::function<bool(absl::string_view)> out;
  // Diagnostics.
  std::function<void(absl::string_view)> err;
  // How `out` can show progress. Its `write` is that of `out`.
  ProgressOutput progress;
  // Somebody sits at the terminal and can answer.
  bool can_ask = false;
  // A line of standard input; nothing at its end.
  std::function<std::optional<std::string>()> read_line;
  // Keys that somebody types at the terminal, taken from then on; null if
  // nobody can.
  std::function<std::unique_ptr<TypedKeys>()> open_keys;
  // All of standard input.
  std::function<absl::StatusOr<std::string>()> read_input;
  // A variable of the environment; empty if it is not set.
  std::function<std::string(const char*)> environment;
  std::function<absl::Time()> now;
  // Called once, before there are threads.
  std::function<std::shared_ptr<Interruption>()> make_interruption;
};

// That of this process.
Console ProcessConsole();

// The text of a file, of at most `bytes_max` bytes. NOT_FOUND,
// PERMISSION_DENIED, or INVALID_ARGUMENT if it is larger or no file.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t bytes_max);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CONSOLE_H_
