#include "common/usable_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

// A folder with the files of a machine.
class Root {
 public:
  Root& With(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  const TestFolder folder_;
};

constexpr char kMachine[] = "MemTotal:        1000 kB\nMemFree: 3 kB\n";

TEST(UsableMemoryTest, WithoutAGroupItIsTheMachines) {
  EXPECT_EQ(UsableMemory(Root().With("/proc/meminfo", kMachine).folder()),
            1'024'000u);
}

TEST(UsableMemoryTest, TheSmallestLimitOfTheGroupsCounts) {
  Root root;
  root.With("/proc/meminfo", kMachine)
      .With("/proc/self/cgroup", "0::/pods/p1\n")
      .With("/sys/fs/cgroup/pods/memory.max", "9000\n")
      .With("/sys/fs/cgroup/pods/p1/memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root.folder()), 9000u);
  root.With("/sys/fs/cgroup/pods/p1/memory.max", "8000\n");
  EXPECT_EQ(UsableMemory(root.folder()), 8000u);
}

TEST(UsableMemoryTest, AContainerSeesItsGroupAsTheRoot) {
  EXPECT_EQ(UsableMemory(Root()
                             .With("/proc/meminfo", kMachine)
                             .With("/proc/self/cgroup", "0::/\n")
                             .With("/sys/fs/cgroup/memory.max", "7000\n")
                             .folder()),
            7000u);
}

TEST(UsableMemoryTest, Version1) {
  EXPECT_EQ(UsableMemory(
                Root()
                    .With("/proc/meminfo", kMachine)
                    .With("/proc/self/cgroup", "3:cpu:/x\n2:memory:/x\n0::/\n")
                    .With("/sys/fs/cgroup/memory/x/"
                          "memory.limit_in_bytes",
                          "6000\n")
                    .folder()),
            6000u);
}

TEST(UsableMemoryTest, NothingThatCanBeRead) {
  EXPECT_EQ(UsableMemory(Root().folder()), 0u);
  EXPECT_EQ(UsableMemory(Root()
                             .With("/proc/meminfo", "rubbish")
                             .With("/proc/self/cgroup", "more\n::\n0::/")
                             .With("/sys/fs/cgroup/memory.max", "-3")
                             .folder()),
            0u);
}

}  // namespace
}  // namespace paceline
