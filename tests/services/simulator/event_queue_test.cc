#include "services/simulator/event_queue.h"

#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;

TEST(EventQueueTest, ByTimeThenKindThenWorkerThenInsertion) {
  EventQueue queue;
  queue.Push({.at = 2, .kind = EventKind::kPushDone, .argument = 1});
  queue.Push({.at = 1, .kind = EventKind::kPull, .argument = 2});
  queue.Push({.at = 1, .kind = EventKind::kComputed, .argument = 3});
  queue.Push(
      {.at = 1, .kind = EventKind::kPushDone, .worker = 1, .argument = 4});
  queue.Push({.at = 1, .kind = EventKind::kPushDone, .argument = 5});
  queue.Push({.at = 1, .kind = EventKind::kPushDone, .argument = 6});
  std::vector<int64_t> order;
  while (!queue.empty()) order.push_back(queue.Pop().argument);
  EXPECT_THAT(order, ElementsAre(5, 6, 4, 3, 2, 1));
}

TEST(EventQueueTest, KeepsItsOrderWhateverComes) {
  EventQueue queue;
  Rng rng(1);
  TimedEvent last;
  for (int i = 0; i < 10'000; ++i) {
    if (queue.empty() || rng.Chance(3, 5)) {
      queue.Push({.at = last.at + static_cast<Nanos>(rng.Below(50))});
      continue;
    }
    const TimedEvent next = queue.Pop();
    EXPECT_LE(last.at, next.at);
    last = next;
  }
}

TEST(NanosTest, ADeadlineIsNeverBeforeItsTime) {
  EXPECT_EQ(ToNanos(absl::InfiniteFuture()), kNever);
  EXPECT_EQ(ToNanos(ToTime(12345)), 12345);
  EXPECT_EQ(ToNanos(ToTime(7) + absl::Nanoseconds(1) / 4), 8);
}

}  // namespace
}  // namespace paceline
