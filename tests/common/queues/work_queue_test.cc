#include "common/work_queue.h"

#include <atomic>
#include <memory>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(WorkQueueTest, WorksOnAsManyAsItHasThreads) {
  absl::BlockingCounter both(2);
  absl::Notification done;
  WorkQueue pool(2, 10);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(pool.Submit([&] {
      both.DecrementCount();
      done.WaitForNotification();
    }));
  }
  both.Wait();  // Neither has ended.
  done.Notify();
}

TEST(WorkQueueTest, RefusesWhatWouldWaitBehindTooMany) {
  absl::Notification entered;
  absl::Notification release;
  std::atomic<int> ran = 0;
  auto pool = std::make_unique<WorkQueue>(1, 2);
  EXPECT_TRUE(pool->Submit([&] {
    entered.Notify();
    release.WaitForNotification();
  }));
  entered.WaitForNotification();
  EXPECT_TRUE(pool->Submit([&] { ++ran; }));
  EXPECT_TRUE(pool->Submit([&] { ++ran; }));
  EXPECT_FALSE(pool->Submit([&] { ++ran; }));
  release.Notify();
  pool.reset();  // Ends with what it has taken on.
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace paceline
