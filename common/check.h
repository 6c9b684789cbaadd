#ifndef PACELINE_COMMON_CHECK_H_
#define PACELINE_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>

// CHECK(condition): ends the process when a condition fails that only a bug in
// this program can break. What the world may do (input, peers, disks) is an
// absl::Status instead. Stays on in release builds. The name is that of
// absl/log/check.h, which the distribution's Abseil does not have yet.
#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) [[unlikely]] {                                        \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

#endif  // PACELINE_COMMON_CHECK_H_
