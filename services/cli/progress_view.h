#ifndef PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_
#define PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/cli/report_line.h"

namespace paceline {

// How progress is shown. Pure functions: reports to text.

struct ViewOptions {
  int width = 80;          // Columns that a line may fill.
  int height = 24;         // Lines.
  bool color = false;      // ANSI colours.
  double max_seconds = 0;  // Of the run; 0: no limit.
};

// Seconds until the run ends by its samples or its time, whichever is first,
// at the present speed; nothing while that is unknown, or the samples are done
// and only an evaluation is awaited.
std::optional<double> SecondsLeft(const ProgressReport& progress,
                                  double max_seconds);

// A short form for people: "0.42 s", "31.2 s", "12 min 05 s", "3 h 10 min".
std::string ShortSeconds(double seconds);

// One line with everything, for logs and pipes:
//   12.0 s  43 %  25800/60000 samples  accuracy 0.912  loss 0.310
//   5210 samples/s  left 6.6 s | w0 computing clock 12 gap 1 waited 0.1 s | ...
std::string PlainProgress(const ProgressReport& progress, double max_seconds);

// Lines for a terminal, to be redrawn in place: a bar for the run, and one line
// per worker as far as `options.height` allows. None is wider than
// `options.width` columns.
std::vector<std::string> TerminalProgress(const ProgressReport& progress,
                                          absl::string_view label,
                                          const ViewOptions& options);

// "12.0 s  evaluated version 180 (5760 samples): accuracy 0.9120, loss 0.310".
std::string EvaluatedLine(const EvaluatedReport& report);

// "12.0 s  w2: lost: stream broken".
std::string DecisionLine(const DecisionReport& report);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_
