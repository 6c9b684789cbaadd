#include "services/parameter_server/disk_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace paceline {
namespace {

TEST(DiskLanesTest, OneThatHangsHoldsUpItsFolderAlone) {
  absl::Notification answer, after, elsewhere;
  DiskLanes lanes(10);
  ASSERT_TRUE(
      lanes.Put("/hangs", 1, [&](const auto&) { answer.WaitForNotification(); })
          .ok());
  ASSERT_TRUE(
      lanes.Put("/hangs", 2, [&](const auto&) { after.Notify(); }).ok());
  ASSERT_TRUE(
      lanes.Put("/other", 1, [&](const auto&) { elsewhere.Notify(); }).ok());
  elsewhere.WaitForNotification();
  EXPECT_FALSE(after.HasBeenNotified());
  EXPECT_FALSE(lanes.idle());
  answer.Notify();
  after.WaitForNotification();
  while (!lanes.idle()) std::this_thread::yield();
}

TEST(DiskLanesTest, CancelsInAllFolders) {
  DiskLanes lanes(10);
  for (const char* const folder : {"/a", "/b"}) {
    ASSERT_TRUE(lanes
                    .Put(folder, 1,
                         [](const DiskWorker::Cancelled& cancelled) {
                           while (!cancelled()) std::this_thread::yield();
                         })
                    .ok());
  }
  // One that has not begun is dropped, one that has ends.
  lanes.Cancel(1);
  while (!lanes.idle()) std::this_thread::yield();
}

TEST(DiskLanesTest, AnIdleFolderMakesRoomForAnother) {
  absl::Notification answer;
  DiskLanes lanes(10);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(lanes
                    .Put(absl::StrCat("/hangs", i), i,
                         [&](const auto&) { answer.WaitForNotification(); })
                    .ok());
  }
  EXPECT_TRUE(
      absl::IsResourceExhausted(lanes.Put("/ninth", 9, [](const auto&) {})));
  answer.Notify();
  while (!lanes.idle()) std::this_thread::yield();
  EXPECT_TRUE(lanes.Put("/ninth", 9, [](const auto&) {}).ok());
}

}  // namespace
}  // namespace paceline
