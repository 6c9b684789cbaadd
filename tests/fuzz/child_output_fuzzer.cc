// What another process of a local run writes: where it listens on its standard
// output, complaints at the end of its log.

#include <fcntl.h>
#include <unistd.h>

#include "services/cli/cluster.h"
#include "services/cli/run_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {R"({"event":"listening","address":"127.0.0.1:7070"})"
          "\n"
          R"({"event":"started","parameters":44426})"
          "\n",
          R"({"event":"listening","address":)" + std::string(30'000, '[') +
              std::string(30'000, ']') + "}",
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
    const auto address = ListeningAddress(line);
    CHECK(!address.has_value() || !address->empty());
  }
  CHECK(LastLine(path).size() <= 300);
}

}  // namespace paceline
