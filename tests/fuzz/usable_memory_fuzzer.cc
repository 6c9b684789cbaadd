// What the kernel says of memory and control groups.

#include <filesystem>

#include "common/usable_memory.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

const ScratchFolder& Root() {
  static const ScratchFolder root;
  static const bool made = [] {
    std::filesystem::create_directories(root.path() + "/proc/self");
    std::filesystem::create_directories(root.path() + "/sys/fs/cgroup/a/b");
    std::filesystem::create_directories(root.path() +
                                        "/sys/fs/cgroup/memory/a");
    return true;
  }();
  CHECK(made);
  return root;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {FuzzText("MemTotal:  16318480 kB\n") + FuzzText("0::/a/b\n") +
              "536870912\n",
          FuzzText("MemTotal: 1 kB\n") + FuzzText("5:memory:/a/\n") + "max",
          FuzzText("MemTotal: 18446744073709551615") +
              FuzzText("1:cpu:/a:b\nx\n0::/../..") + "-1"};
}

void FuzzOne(absl::string_view input) {
  const ScratchFolder& root = Root();
  FuzzInput fuzz(input);
  root.Write("proc/meminfo", fuzz.Text());
  root.Write("proc/self/cgroup", fuzz.Text());
  const absl::string_view limit = fuzz.Rest();
  root.Write("sys/fs/cgroup/a/memory.max", limit);
  root.Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", limit);
  CHECK(UsableMemory(root.path()) == UsableMemory(root.path()));
}

}  // namespace paceline
