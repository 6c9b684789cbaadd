#include "common/checkpoint/folder_lanes.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

// What hangs in a task outlives the lanes, and so what it waits for must.
using Signal = std::shared_ptr<absl::Notification>;
Signal NewSignal() { return std::make_shared<absl::Notification>(); }

void Hang(FolderLanes& lanes, const std::string& folder, const Signal& end) {
  const Signal begun = NewSignal();
  ASSERT_TRUE(lanes
                  .Put(folder,
                       [begun, end] {
                         begun->Notify();
                         end->WaitForNotification();
                       })
                  .ok());
  begun->WaitForNotification();
}

TEST(FolderLanesTest, WhatIsPutForAFolderIsDoneInOrder) {
  std::vector<int> done;
  absl::Notification last;
  FolderLanes lanes;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(lanes.Put("/a", [&done, i] { done.push_back(i); }).ok());
  }
  ASSERT_TRUE(lanes.Put("/a", [&last] { last.Notify(); }).ok());
  last.WaitForNotification();
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

TEST(FolderLanesTest, OneThatHangsHoldsUpItsFolderAlone) {
  const Signal end = NewSignal();
  absl::Notification after, elsewhere;
  FolderLanes lanes;
  Hang(lanes, "/hangs", end);
  ASSERT_TRUE(lanes.Put("/hangs", [&] { after.Notify(); }).ok());
  ASSERT_TRUE(lanes.Put("/other", [&] { elsewhere.Notify(); }).ok());
  elsewhere.WaitForNotification();
  EXPECT_FALSE(after.HasBeenNotified());
  end->Notify();
  after.WaitForNotification();
}

TEST(FolderLanesTest, TooManyThatHangAreRefused) {
  const Signal end = NewSignal();
  FolderLanes lanes;
  for (int i = 0; i < 16; ++i) Hang(lanes, absl::StrCat("/hangs", i), end);
  EXPECT_TRUE(absl::IsResourceExhausted(lanes.Put("/other", [] {})));
  end->Notify();
  EXPECT_TRUE(Eventually([&] { return lanes.Put("/other", [] {}).ok(); }));
}

TEST(FolderLanesTest, WhatHangsIsLeftBehindAndWhatWaitsForItDropped) {
  const Signal end = NewSignal();
  const auto held = std::make_shared<int>();
  {
    FolderLanes lanes;
    Hang(lanes, "/hangs", end);
    ASSERT_TRUE(lanes.Put("/hangs", [held] { ++*held; }).ok());
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  end->Notify();
  EXPECT_TRUE(Eventually([&] { return end.use_count() == 1; }));
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace paceline
