#include "common/checkpoint/folder_watch.h"

#include <atomic>
#include <string>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(FolderWatchTest, LooksAtOnceAndAgain) {
  ManualClock clock;
  std::atomic<int> looks = 0;
  const FolderWatch watch(
      "/saved",
      [&looks](FolderState& state) {
        state.id = "one";
        state.status =
            ++looks == 1 ? absl::NotFoundError("none") : absl::OkStatus();
      },
      &clock);
  ASSERT_TRUE(Eventually([&] { return absl::IsNotFound(watch.Get().status); }));
  EXPECT_EQ(watch.Get().path, "/saved");
  EXPECT_EQ(watch.Get().id, "one");
  EXPECT_FALSE(watch.Get().been_usable);
  EXPECT_EQ(watch.Get().looked_at, clock.Now());
  // At one that is in trouble soon.
  clock.Advance(absl::Seconds(2));
  ASSERT_TRUE(Eventually([&] { return watch.Get().status.ok(); }));
  EXPECT_TRUE(watch.Get().been_usable);
  EXPECT_EQ(looks, 2);
  // Then more rarely.
  clock.Advance(absl::Seconds(30));
  ASSERT_TRUE(Eventually([&] { return looks == 3; }));
}

TEST(FolderWatchTest, OneThatHangsIsSaidToHang) {
  ManualClock clock;
  absl::Notification answer;
  const FolderWatch watch(
      "/saved",
      [&answer](FolderState& state) {
        answer.WaitForNotification();
        state.status = absl::OkStatus();
      },
      &clock);
  EXPECT_TRUE(absl::IsUnavailable(watch.Get().status));
  EXPECT_FALSE(watch.Get().known);
  // Once the thread has begun, which it does at a moment of its own.
  ASSERT_TRUE(Eventually([&] {
    clock.Advance(absl::Seconds(11));
    return absl::IsDeadlineExceeded(watch.Get().status);
  }));
  EXPECT_TRUE(watch.Get().known);
  EXPECT_THAT(std::string(watch.Get().status.message()), HasSubstr("hangs"));
  answer.Notify();
  EXPECT_TRUE(Eventually([&] { return watch.Get().status.ok(); }));
}

}  // namespace
}  // namespace paceline
