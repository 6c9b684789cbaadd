#include "services/parameter_server/disk_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// Runs until it is cancelled.
DiskWorker::Task Endless(absl::Notification& begun, bool& ended) {
  return [&](const DiskWorker::Cancelled& cancelled) {
    begun.Notify();
    while (!cancelled()) std::this_thread::yield();
    ended = true;
  };
}

void AwaitIdle(const DiskWorker& worker) {
  while (!worker.idle()) std::this_thread::yield();
}

TEST(DiskWorkerTest, WorksInTheOrderOfComing) {
  std::vector<int> done;
  DiskWorker worker(10);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        worker.Put(i, [&done, i](const auto&) { done.push_back(i); }).ok());
  }
  AwaitIdle(worker);
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(DiskWorkerTest, CancelEndsWhatRunsAndDropsWhatWaitsOfOneRun) {
  absl::Notification begun;
  bool ended = false;
  bool own = false;
  bool others = false;
  DiskWorker worker(10);
  ASSERT_TRUE(worker.Put(1, Endless(begun, ended)).ok());
  begun.WaitForNotification();
  const auto held = std::make_shared<int>();
  const std::weak_ptr<int> watched = held;
  ASSERT_TRUE(
      worker.Put(1, [&own, held](const auto&) { own = *held == 0; }).ok());
  ASSERT_TRUE(
      worker.Put(2, [&](const auto& cancelled) { others = !cancelled(); })
          .ok());
  worker.Cancel(3);
  EXPECT_FALSE(worker.idle());
  EXPECT_EQ(held.use_count(), 2);
  worker.Cancel(1);
  EXPECT_EQ(held.use_count(), 1) << "what waited is let go of";
  AwaitIdle(worker);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(own);
  EXPECT_TRUE(others);
}

TEST(DiskWorkerTest, IsBounded) {
  absl::Notification begun;
  bool ended = false;
  DiskWorker worker(1);
  ASSERT_TRUE(worker.Put(1, Endless(begun, ended)).ok());
  begun.WaitForNotification();
  ASSERT_TRUE(worker.Put(2, [](const auto&) {}).ok());
  EXPECT_EQ(worker.Put(3, [](const auto&) {}).code(),
            StatusCode::kResourceExhausted);
  worker.CancelAll();
  AwaitIdle(worker);
}

TEST(DiskWorkerTest, OneTaskOfARunWaitsAtMost) {
  absl::Notification begun;
  bool ended = false;
  DiskWorker worker(10);
  ASSERT_TRUE(worker.Put(1, Endless(begun, ended)).ok());
  begun.WaitForNotification();
  ASSERT_TRUE(worker.Put(1, [](const auto&) {}).ok());
  EXPECT_EQ(worker.Put(1, [](const auto&) {}).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(worker.Put(2, [](const auto&) {}).ok());
  worker.CancelAll();
  AwaitIdle(worker);
}

TEST(DiskWorkerTest, DestructionCancelsAndWaits) {
  absl::Notification begun;
  bool ended = false;
  bool after = false;
  {
    DiskWorker worker(10);
    ASSERT_TRUE(worker.Put(1, Endless(begun, ended)).ok());
    ASSERT_TRUE(worker.Put(2, [&](const auto&) { after = true; }).ok());
    begun.WaitForNotification();
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(after);
}

}  // namespace
}  // namespace paceline
