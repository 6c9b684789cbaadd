#include "common/usable_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// The number in the file, which may say "max". kNoLimit if there is none.
uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  uint64_t limit = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &limit)) return kNoLimit;
  return limit;
}

// "MemTotal:  16318480 kB"
uint64_t MachineMemory(const std::string& root) {
  std::ifstream file(absl::StrCat(root, "/proc/meminfo"));
  std::string name;
  uint64_t kib = 0;
  if (!(file >> name >> kib) || name != "MemTotal:") return kNoLimit;
  return kib * 1024;
}

// The limit of the group at `path` and those that it is in. A container sees
// its own group as the root, so the root counts too.
uint64_t GroupLimit(const std::string& mount, absl::string_view path,
                    absl::string_view file) {
  uint64_t limit = kNoLimit;
  while (true) {
    limit = std::min(limit, LimitIn(absl::StrCat(mount, path, "/", file)));
    const size_t slash = path.rfind('/');
    if (slash == absl::string_view::npos) return limit;
    path = path.substr(0, slash);
  }
}

// The smallest limit in any hierarchy. A line is "ID:CONTROLLERS:PATH".
uint64_t ControlGroupLimit(const std::string& root) {
  const std::string mount = absl::StrCat(root, "/sys/fs/cgroup");
  uint64_t limit = kNoLimit;
  std::ifstream file(absl::StrCat(root, "/proc/self/cgroup"));
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const absl::string_view path = absl::StripSuffix(parts[2], "/");
    if (parts[1].empty()) {
      limit = std::min(limit, GroupLimit(mount, path, "memory.max"));
    } else if (parts[1] == "memory") {
      limit = std::min(limit, GroupLimit(absl::StrCat(mount, "/memory"), path,
                                         "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace

uint64_t UsableMemory(const std::string& root) {
  const uint64_t bytes = std::min(MachineMemory(root), ControlGroupLimit(root));
  return bytes == kNoLimit ? 0 : bytes;
}

}  // namespace paceline
