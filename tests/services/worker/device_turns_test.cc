#include "services/worker/device_turns.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

bool Never() { return false; }

// Waits for a turn on a thread of its own, and says that it does.
class Waiting {
 public:
  Waiting(DeviceTurns* turns, std::string name, absl::Mutex* mu,
          std::vector<std::string>* order)
      : thread_([=, this, name = std::move(name)] {
          DeviceTurn turn(turns);
          const bool had_it = turn.Begin([this] {
            if (!waits_.HasBeenNotified()) waits_.Notify();
            return gives_up_.HasBeenNotified();
          });
          absl::MutexLock lock(mu);
          order->push_back(had_it ? name : name + " gave up");
        }) {
    waits_.WaitForNotification();
  }
  ~Waiting() { thread_.join(); }

  void GiveUp() { gives_up_.Notify(); }

 private:
  absl::Notification waits_;
  absl::Notification gives_up_;
  std::thread thread_;
};

TEST(DeviceTurnsTest, WhoHasAskedFirstIsFirst) {
  DeviceTurns turns;
  absl::Mutex mu;
  std::vector<std::string> order;
  {
    DeviceTurn first(&turns);
    ASSERT_TRUE(first.Begin(&Never));
    Waiting a(&turns, "a", &mu, &order);
    Waiting b(&turns, "b", &mu, &order);
    Waiting c(&turns, "c", &mu, &order);
    b.GiveUp();
    {
      absl::MutexLock lock(&mu);
      const auto gone = [&] { return !order.empty(); };
      mu.Await(absl::Condition(&gone));
    }
    first.End();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"b gave up", "a", "c"}));
  EXPECT_TRUE(turns.Take(&Never)) << "nobody has it any more";
}

TEST(DeviceTurnTest, LastsUntilItsEnd) {
  DeviceTurns turns;
  DeviceTurn turn(&turns);
  EXPECT_TRUE(turn.Begin(&Never));
  EXPECT_TRUE(turn.Begin([] { return true; })) << "it goes on";
  EXPECT_FALSE(turns.Take([] { return true; }));
  turn.End();
  turn.End();
  EXPECT_TRUE(turns.Take(&Never));
}

TEST(DeviceTurnTest, WithoutTurnsThereIsNothingToWaitFor) {
  DeviceTurn turn(nullptr);
  EXPECT_TRUE(turn.Begin([] { return true; }));
  turn.End();
}

}  // namespace
}  // namespace paceline
