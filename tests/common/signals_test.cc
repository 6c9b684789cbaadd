#include "common/signals.h"

#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace paceline {
namespace {

// Were it watched, it would come first: the lower number is read first.
TEST(SignalsTest, WhatIsIgnoredStaysIgnored) {
  EXPECT_EXIT(
      {
        alarm(10);                // If nothing comes.
        signal(SIGHUP, SIG_IGN);  // As nohup does.
        signal(SIGTERM, SIG_DFL);
        const sigset_t kept = KeepSignals({SIGHUP, SIGTERM});
        kill(getpid(), SIGHUP);
        kill(getpid(), SIGTERM);
        const SignalWatch watch(kept, [](int came) {
          const bool ignored = signal(SIGHUP, SIG_DFL) == SIG_IGN;
          _exit(ignored && came == SIGTERM ? 0 : 1);
        });
        pause();
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace paceline
