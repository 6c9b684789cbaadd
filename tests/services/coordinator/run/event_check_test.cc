#include "services/coordinator/run/journal/event_check.h"

#include <limits>

#include "gtest/gtest.h"

namespace paceline {
namespace {

using journal::RunEvent;

RunEvent Came(uint64_t worker) {
  RunEvent event;
  event.mutable_came()->set_worker(worker);
  return event;
}

RunEvent Said(int server, int shard) {
  RunEvent event;
  event.mutable_server_said()->set_server(server);
  event.mutable_server_said()->set_shard(shard);
  return event;
}

RunEvent EventAt(int64_t ns) {
  RunEvent event;
  event.set_at_ns(ns);
  event.mutable_time_passed();
  return event;
}

RunEvent Opened(double seconds, int64_t version) {
  RunEvent event;
  event.mutable_opened()->set_seconds(seconds);
  event.mutable_opened()->set_version(version);
  return event;
}

TEST(EventCheckTest, WorkersComeOnce) {
  EventCheck check(1);
  EXPECT_TRUE(check.Take(Came(2)).ok());
  EXPECT_TRUE(check.Take(Came(1)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(check.Take(Came(2))));
  EXPECT_FALSE(check.Take(Came(0)).ok());
  // It would be worker 2 again, for a course.
  EXPECT_FALSE(check.Take(Came((uint64_t{1} << 32) + 2)).ok());
}

TEST(EventCheckTest, ServersAreThoseThatHaveCome) {
  EventCheck check(2);
  EXPECT_TRUE(check.Take(Said(1, 1)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(check.Take(Said(2, 1))));
  RunEvent came;
  came.mutable_server_came();
  EXPECT_TRUE(check.Take(came).ok());
  EXPECT_TRUE(check.Take(Said(2, 1)).ok());
  // It is no shard more.
  EXPECT_FALSE(check.Take(Said(2, 2)).ok());
  EXPECT_FALSE(check.Take(Said(-1, 0)).ok());
  EXPECT_FALSE(check.Take(Said(0, -1)).ok());
}

TEST(EventCheckTest, EveryEventThatNamesAServerIsLookedAt) {
  for (const int server : {0, 1}) {
    RunEvent lost, leaves, linked, returned;
    lost.mutable_server_lost()->set_server(server);
    leaves.mutable_server_leaves()->set_server(server);
    linked.mutable_server_linked()->set_server(server);
    returned.mutable_server_returned()->set_server(server);
    for (const RunEvent& event : {lost, leaves, linked, returned}) {
      EXPECT_EQ(EventCheck(1).Take(event).ok(), server == 0)
          << event.ShortDebugString();
    }
  }
}

TEST(EventCheckTest, TimesAreThoseOfAMachine) {
  EXPECT_TRUE(CheckTime(EventAt(0)).ok());
  EXPECT_TRUE(EventCheck(1).Take(EventAt(int64_t{1} << 60)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(EventCheck(1).Take(EventAt(-1))));
  EXPECT_FALSE(CheckTime(EventAt(std::numeric_limits<int64_t>::max())).ok());
}

TEST(EventCheckTest, ARunBeginsAtASoundPlace) {
  EventCheck check(1);
  EXPECT_TRUE(check.Take(Opened(0, 0)).ok());
  EXPECT_TRUE(check.Take(Opened(1e9, 1'000'000'000)).ok());
  EXPECT_FALSE(check.Take(Opened(-1, 0)).ok());
  EXPECT_FALSE(
      check.Take(Opened(std::numeric_limits<double>::quiet_NaN(), 0)).ok());
  EXPECT_FALSE(check.Take(Opened(0, -1)).ok());
  EXPECT_FALSE(check.Take(Opened(0, std::numeric_limits<int64_t>::max())).ok());
}

}  // namespace
}  // namespace paceline
