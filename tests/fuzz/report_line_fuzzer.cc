// What another process of a local run writes: reports on its standard output,
// complaints at the end of its log.

#include <fcntl.h>
#include <unistd.h>

#include "services/cli/json_fields.h"
#include "services/cli/line_reader.h"
#include "services/cli/progress_view.h"
#include "services/cli/report_line.h"
#include "services/cli/run_folder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

// As the command shows it.
void Show(const Report& report) {
  if (const auto* progress = std::get_if<ProgressReport>(&report)) {
    PlainProgress(*progress, /*max_seconds=*/60);
    const ViewOptions options{.width = 40, .height = 5, .color = true};
    TerminalProgress(*progress, "ssp", options);
  } else if (const auto* point = std::get_if<EvaluatedReport>(&report)) {
    EvaluatedLine(*point);
  } else if (const auto* decision = std::get_if<DecisionReport>(&report)) {
    DecisionLine(*decision);
  } else if (const auto* result = std::get_if<ResultReport>(&report)) {
    CHECK(result->run.is_object());
  } else if (const auto* failed = std::get_if<FailedReport>(&report)) {
    CHECK(!failed->status.ok());
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {
      R"({"event":"listening","address":"127.0.0.1:7070"})"
      "\n"
      R"({"event":"started","parameters":44426,"train_samples":60000})"
      "\n",
      R"({"event":"progress","seconds":12,"state":"training","samples":25800,)"
      R"("samples_total":60000,"samples_per_second":5210,"version":180,)"
      R"("loss":0.31,"accuracy":0.912,"workers":[{"worker":"w0",)"
      R"("state":"computing","clock":12,"gap":1,"wait_seconds":0.1,)"
      R"("iterations":12}]})",
      R"({"event":"evaluated","seconds":1,"version":2,"accuracy":0.5})",
      R"({"event":"decision","seconds":1,"worker":"w2","text":"lost"})",
      R"({"event":"result","run":{"paradigm":"bsp","workers":[]}})",
      R"({"event":"failed","code":"NOT_FOUND","message":"no data"})",
      R"({"event":"result","run":{"a":)" + std::string(30'000, '[') +
          std::string(30'000, ']') + "}}",
      R"({"level":"error","message":"no"})"};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("output", input);
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(fd >= 0);
  LineReader reader(fd);
  std::vector<std::string> lines;
  while (!reader.at_end()) {
    for (std::string& line : reader.Read()) lines.push_back(std::move(line));
  }
  close(fd);
  for (const std::string& line : lines) {
    const auto report = ParseReportLine(line);
    ExpectInvalidArgument(report.status());
    if (report.ok()) Show(*report);
  }
  CHECK(LastLine(path).size() <= 300);
}

}  // namespace paceline
