#include "common/lane/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"

namespace paceline {
namespace {

TEST(SharedMemoryTest, WhatOneEndWritesTheOtherReads) {
  const size_t before = OpenDescriptors();
  {
    const auto made = SharedMemory::Create("test", 100);
    ASSERT_TRUE(made.ok()) << made.status();
    const auto mapped = SharedMemory::Map(UniqueFd(dup((*made)->fd())), 100);
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    EXPECT_EQ((*mapped)->bytes(), 100u);
    (*made)->CloseDescriptor();
    (*made)->data()[99] = 'x';
    EXPECT_EQ((*mapped)->data()[99], 'x');
    EXPECT_EQ((*mapped)->data()[98], 0);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(SharedMemoryTest, WhatIsReservedIsReadByOthers) {
  const auto made = SharedMemory::Reserve("test", 100);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(SharedMemory::Map(UniqueFd(dup((*made)->fd())), 100).ok());
  const auto mapped = SharedMemory::Map(UniqueFd(dup((*made)->fd())), 100,
                                        SharedMemory::Access::kRead);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  (*made)->data()[99] = 'x';
  EXPECT_EQ((*mapped)->data()[99], 'x');
}

// A mapping of what shrinks ends the process at the next look.
TEST(SharedMemoryTest, OnlyWhatCannotShrinkIsMapped) {
  const auto memory = [](unsigned flags, int seals) {
    const int fd = memfd_create("test", MFD_ALLOW_SEALING | flags);
    EXPECT_EQ(ftruncate(fd, 2 << 20), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
  };
  struct Case {
    std::string what;
    std::function<int()> fd;
  };
  const Case cases[] = {
      {"nothing", [] { return -1; }},
      {"a file", [] { return open("/proc/self/exe", O_RDONLY); }},
      {"a device", [] { return open("/dev/zero", O_RDWR); }},
      {"without seals", [&] { return memory(0, 0); }},
      {"sealed against growing", [&] { return memory(0, F_SEAL_GROW); }},
      {"sealed against writing",
       [&] { return memory(0, F_SEAL_SHRINK | F_SEAL_WRITE); }},
      {"empty",
       [] {
         const int fd = memfd_create("test", MFD_ALLOW_SEALING);
         fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
         return fd;
       }},
      {"too large",
       [] {
         const int fd = memfd_create("test", MFD_ALLOW_SEALING);
         EXPECT_EQ(ftruncate(fd, (2 << 20) + 1), 0);
         fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
         return fd;
       }},
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(SharedMemory::Map(UniqueFd(c.fd()), 2 << 20).ok()) << c.what;
  }
  EXPECT_TRUE(
      SharedMemory::Map(UniqueFd(memory(0, F_SEAL_SHRINK)), 2 << 20).ok());
}

}  // namespace
}  // namespace paceline
