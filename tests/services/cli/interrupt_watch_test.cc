#include "services/cli/interrupt_watch.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

namespace paceline {
namespace {

// Ends this process: 0 if the watch sees one signal, and `wanted` first.
[[noreturn]] void EndWithWhatIsSeen(InterruptWatch& watch, int wanted) {
  pollfd ready = {watch.fd(), POLLIN, 0};
  poll(&ready, 1, /*timeout=*/10'000);
  watch.Read();
  _exit(watch.count() == 1 && watch.first() == wanted ? 0 : 1);
}

// OpenBLAS starts one; it has no mask, so that the system may choose it.
TEST(InterruptWatchTest, AThreadThatWasThereBeforeDoesNotLetASignalKill) {
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_DFL);  // Whoever runs the tests may ignore it.
        std::thread before([] { poll(nullptr, 0, /*timeout=*/-1); });
        auto watch = InterruptWatch::Create();
        pthread_kill(before.native_handle(), SIGINT);
        EndWithWhatIsSeen(*watch, SIGINT);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptWatchTest, WhatIsIgnoredStaysIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);  // As nohup does.
        auto watch = InterruptWatch::Create();
        kill(getpid(), SIGHUP);
        kill(getpid(), SIGTERM);
        EndWithWhatIsSeen(*watch, SIGTERM);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptWatchTest, AfterItASignalEndsTheProcessAgain) {
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_DFL);
        { auto watch = InterruptWatch::Create(); }
        kill(getpid(), SIGINT);
        pause();
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace paceline
