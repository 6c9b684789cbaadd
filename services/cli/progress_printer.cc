#include "services/cli/progress_printer.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/unique_fd.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

constexpr absl::Duration kPlainInterval = absl::Seconds(10);

TerminalSize SizeOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
      size.ws_row == 0) {
    return TerminalSize();
  }
  return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace

void ProgressPrinter::StartRun(std::string label, double max_seconds,
                               bool details) {
  Clear();
  label_ = std::move(label);
  max_seconds_ = max_seconds;
  details_ = details;
  shown_.reset();
  next_plain_ = absl::InfinitePast();
}

void ProgressPrinter::Show(const v1::JobProgress& progress, absl::Time now) {
  const bool same_phase =
      shown_.has_value() && shown_->phase() == progress.phase();
  shown_ = progress;
  if (output_.terminal) {
    // One write, or a slow terminal would flicker.
    const std::string erase = Erase();
    Write(absl::StrCat(erase, Draw()));
    return;
  }
  if (same_phase && now < next_plain_) return;
  next_plain_ = now + kPlainInterval;
  PlainLine(PlainProgress(progress, max_seconds_));
}

void ProgressPrinter::Show(const v1::AccuracyPoint& point) {
  // The bars carry it; lines that scroll by would bury what happened.
  if (!output_.terminal) PlainLine(EvaluatedLine(point));
}

void ProgressPrinter::Show(const v1::Decision& decision) {
  Note(absl::StrCat("[", label_, "] ", DecisionLine(decision)));
}

void ProgressPrinter::Note(absl::string_view text) {
  const std::string erase = Erase();
  Write(absl::StrCat(erase, OneLine(text), "\n", Draw()));
}

void ProgressPrinter::Clear() {
  shown_.reset();
  const std::string erase = Erase();
  if (!erase.empty()) Write(erase);
}

std::string ProgressPrinter::Erase() {
  if (drawn_lines_ == 0) return "";
  // Up to the first line of the bars, to its beginning, and erase below.
  return absl::StrCat("\x1b[", std::exchange(drawn_lines_, 0), "A\r\x1b[J");
}

std::string ProgressPrinter::Draw() {
  if (!output_.terminal || !shown_.has_value()) return "";
  const TerminalSize size = output_.size();
  // The last column stays free: a terminal that wraps early would otherwise
  // draw one line more than Erase() removes. So does the last row, where the
  // cursor rests.
  const std::vector<std::string> lines =
      TerminalProgress(*shown_, label_,
                       {.width = size.columns - 1,
                        .height = size.rows - 1,
                        .color = output_.color,
                        .max_seconds = max_seconds_,
                        .details = details_});
  drawn_lines_ = static_cast<int>(lines.size());
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

void ProgressPrinter::PlainLine(absl::string_view text) {
  Write(absl::StrCat("[", label_, "] ", text, "\n"));
}

void ProgressPrinter::Write(absl::string_view text) {
  if (!output_.write(text) && write_error_ == 0) {
    write_error_ = errno != 0 ? errno : EIO;
  }
}

ProgressOutput ProgressTo(int fd, const char* term, const char* no_color) {
  const absl::string_view name = absl::NullSafeStringView(term);
  const bool smart = !name.empty() && name != "dumb";
  const bool terminal = smart && isatty(fd) == 1;
  return {.write = [fd](absl::string_view text) { return WriteAll(fd, text); },
          .terminal = terminal,
          .color = terminal && (no_color == nullptr || *no_color == '\0'),
          .size = [fd] { return SizeOf(fd); }};
}

}  // namespace paceline
