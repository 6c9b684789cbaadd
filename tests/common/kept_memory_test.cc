#include "common/kept_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace paceline {
namespace {

// As the slices of a transport: many at a time, none of them large.
constexpr size_t kSlices = 512;
constexpr size_t kBytes = size_t{64} << 10;
constexpr int64_t kPages = kSlices * kBytes / 4096;

// The page faults of memory that is taken, written and given back.
int64_t Faults() {
  const auto count = [] {
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  const int64_t before = count();
  std::vector<std::unique_ptr<char[]>> slices;
  for (size_t i = 0; i < kSlices; ++i) {
    slices.push_back(std::make_unique_for_overwrite<char[]>(kBytes));
    // The compiler must not see that nobody reads them.
    volatile char* const bytes = slices.back().get();
    for (size_t at = 0; at < kBytes; at += 1024) bytes[at] = 1;
  }
  return count() - before;
}

TEST(KeptMemoryTest, WhatWasFreedIsTakenAgainWithoutFaults) {
  setenv("GLIBC_TUNABLES", "glibc.malloc.check=0", /*overwrite=*/1);
  KeepFreedMemory();  // Leaves what others have tuned.
  Faults();
  EXPECT_GE(Faults(), kPages / 2);

  unsetenv("GLIBC_TUNABLES");
  unsetenv("MALLOC_TRIM_THRESHOLD_");
  KeepFreedMemory();
  Faults();
  EXPECT_LT(Faults(), kPages / 10);
}

}  // namespace
}  // namespace paceline
