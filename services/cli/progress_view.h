#ifndef PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_
#define PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// How progress is shown. These are pure functions from messages to text, and
// the one place where what a peer wrote becomes harmless: no name or text of
// theirs can break a line or move the cursor.

struct ViewOptions {
  int width = 80;          // Columns that a line may fill.
  int height = 24;         // Lines.
  bool color = false;      // ANSI colours.
  double max_seconds = 0;  // The run's limit; 0: none.
  bool details = false;    // A line with the samples and the paradigm.
};

// Seconds until the run ends by its samples or its time, whichever is first,
// at the present speed; nothing while that is unknown, or the samples are done
// and only an evaluation is awaited.
std::optional<double> SecondsLeft(const v1::JobProgress& progress,
                                  double max_seconds);

// A short form for people: "0.42 s", "31.2 s", "12 min 05 s", "3 h 10 min".
std::string ShortSeconds(double seconds);

// One line with everything, for logs and pipes:
//   12.0 s  43 %  25800/60000 samples  accuracy 0.912  loss 0.310
//   5210 samples/s  left 6.6 s | w0 computing clock 12 gap 1 waited 0.1 s | ...
std::string PlainProgress(const v1::JobProgress& progress, double max_seconds);

// Lines for a terminal, to be redrawn in place: a bar for the run, and one line
// per worker as far as `options.height` allows, which says who is a straggler.
// None is wider than `options.width` columns.
std::vector<std::string> TerminalProgress(const v1::JobProgress& progress,
                                          absl::string_view label,
                                          const ViewOptions& options);

// "perplexity 20.31", in the order of the names.
std::vector<std::string> MetricTexts(
    const google::protobuf::Map<std::string, double>& metrics);

// "12.0 s  evaluated version 180 (5760 samples): accuracy 0.9120, loss 0.310".
std::string EvaluatedLine(const v1::AccuracyPoint& point);

// "12.0 s  w2: lost: stream broken".
std::string DecisionLine(const v1::Decision& decision);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRESS_VIEW_H_
