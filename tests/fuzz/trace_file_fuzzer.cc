// A recorded run, to be replayed.

#include <sstream>

#include "services/cli/trace_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {R"({"worker":"w0","compute":0.02,"load":0.0001,"push":0.001,)"
          R"("pull":0.0009,"samples":32})"
          "\n\n"
          R"({"worker":"w10","compute":1})"
          "\n",
          R"({"worker":"w0","compute":3600,"samples":16777216,"x":[{}]})",
          R"({"worker":"w","a":)" + std::string(60'000, '[')};
}

void FuzzOne(absl::string_view input) {
  std::istringstream lines{std::string(input)};
  const auto workers = ReadTrace(lines, /*batch_size=*/32);
  ExpectInvalidArgument(workers.status());
  if (!workers.ok()) return;
  for (const RecordedWorker& worker : *workers) {
    CHECK(!worker.name.empty() && !worker.iterations->empty());
    for (const RecordedIteration& iteration : *worker.iterations) {
      CHECK(iteration.compute >= 1 && iteration.samples >= 1);
      CHECK(iteration.push.value_or(0) >= 0 && iteration.pull.value_or(0) >= 0);
    }
  }
}

}  // namespace paceline
