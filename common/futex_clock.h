#ifndef PACELINE_COMMON_FUTEX_CLOCK_H_
#define PACELINE_COMMON_FUTEX_CLOCK_H_

namespace paceline {

// Waits with a time limit go by the monotonic clock.
//
// Abseil's (of a Mutex, a CondVar, a Notification), of which gRPC's are made,
// do not by themselves in the release that Debian 12 has, 20220623: they last
// until an absolute time of the wall clock. When that clock is set back by an
// hour, every wait that is open lasts an hour longer; heartbeats stop, and
// every lease ends. Abseil waits by a call of syscall(). A program that calls
// UseFutexClock() has a function of that name, which the dynamic linker finds
// before the C library's: it turns such a wait into one that ends at the same
// moment of the monotonic clock, and passes on everything else.
//
// Abseil 20230802 and later do so themselves; with them this file can go.
// What is left: a wait that is taken up again after it was woken for nothing
// still compares with the wall clock of its beginning.
//
// Has the linker take that function, and notes what time it is: the sooner, the
// sooner a setting is seen. Thread-safe.
void UseFutexClock();

}  // namespace paceline

#endif  // PACELINE_COMMON_FUTEX_CLOCK_H_
