#ifndef PACELINE_TESTS_BENCH_RAW_TCP_H_
#define PACELINE_TESTS_BENCH_RAW_TCP_H_

#include <cstddef>

namespace paceline {

// Sends `bytes` through one TCP connection on loopback, from a thread that
// writes to one that reads in pieces of 1 MiB, and returns the seconds from the
// first byte to the last: what this machine gives a stream that does nothing
// else.
double RawTcpSeconds(size_t bytes);

}  // namespace paceline

#endif  // PACELINE_TESTS_BENCH_RAW_TCP_H_
