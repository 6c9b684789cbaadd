#ifndef PACELINE_SERVICES_CLI_PROGRESS_PRINTER_H_
#define PACELINE_SERVICES_CLI_PROGRESS_PRINTER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/progress_view.h"

namespace paceline {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

// Where progress goes, and what that can show.
struct ProgressOutput {
  // False if nobody takes it.
  std::function<bool(absl::string_view)> write;
  // A terminal that moves its cursor: progress is redrawn in place.
  bool terminal = false;
  bool color = false;
  // Asked before every drawing, since a terminal can be resized.
  std::function<TerminalSize()> size = [] { return TerminalSize(); };
};

// Shows what happens to a run: on a terminal as bars that are redrawn in place
// below the lines that stay, elsewhere as plain lines, one every ten
// seconds, one for each phase and one for every evaluation that it is told of.
// Thread-compatible.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(ProgressOutput output)
      : output_(std::move(output)) {}

  // A new run begins, called `label` in what follows. With `details` the bars
  // also have what ViewOptions says.
  void StartRun(std::string label, double max_seconds, bool details = false);

  void Show(const v1::JobProgress& progress, absl::Time now);
  void Show(const v1::AccuracyPoint& point);
  void Show(const v1::Decision& decision);

  // A line that stays, whatever is drawn.
  void Note(absl::string_view text);

  // Removes the bars; the run has ended. They return with the next Show().
  void Clear();

  // Whether anything could not be written: nobody reads any more. What comes
  // later is tried all the same.
  bool broken() const { return write_error_ != 0; }
  // The errno of the write that failed first; 0: none has.
  int write_error() const { return write_error_; }

 private:
  // What moves to where the bars begin and erases them; what draws them.
  std::string Erase();
  std::string Draw();
  void PlainLine(absl::string_view text);
  void Write(absl::string_view text);

  ProgressOutput output_;
  std::string label_;
  double max_seconds_ = 0;
  bool details_ = false;
  std::optional<v1::JobProgress> shown_;
  int drawn_lines_ = 0;
  int write_error_ = 0;
  absl::Time next_plain_ = absl::InfinitePast();
};

// Progress on a descriptor: bars if it is a terminal that understands more than
// plain text. `term` and `no_color` are the values of TERM and NO_COLOR, null
// when they are not set (no-color.org: any non-empty value means no colour).
ProgressOutput ProgressTo(int fd, const char* term, const char* no_color);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRESS_PRINTER_H_
