// Writers, readers and those who come and go, all at once.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/coordinator/watch/event_log.h"
#include "services/coordinator/watch/watch_pump.h"

namespace paceline {
namespace {

// "e<number>", or "job<number of the last event>", or "p".
using Log = EventLog<std::string>;

constexpr int kEvents = 4000;
constexpr int kJobEvery = 5;

// A watcher as a stream is one, without the stream: reads all that there is
// whenever the pump calls, if it reads at all.
class Reader : public WatchPump::Watcher {
 public:
  Reader(Log* log, bool reads) : log_(*log), reads_(reads) {}

  ~Reader() override { log_.Unsubscribe(subscription_); }

  void Watch(const std::shared_ptr<Reader>& self, WatchPump* pump) {
    subscription_ = log_.Subscribe([weak = std::weak_ptr<Reader>(self), pump] {
      if (const auto reader = weak.lock()) pump->Post(reader);
    });
    pump->Post(self);
  }

  // On the pump's thread.
  void Pump() override {
    if (!reads_) return;
    while (const auto reading = log_.Next(cursor_)) Check(*reading->message);
    if (log_.EndedAt(cursor_).has_value()) ended_ = true;
  }

  bool ended() const { return ended_; }
  int64_t last() const { return last_; }

 private:
  // Numbers go up by one, but for a jump to the job as it is, whose number may
  // be that of one of the last kJobEvery events.
  void Check(const std::string& message) {
    int64_t number = 0;
    if (absl::SimpleAtoi(message.substr(1), &number)) {
      if (last_ >= 0) {
        EXPECT_GT(number, last_);
        EXPECT_LE(number, last_ + (after_job_ ? kJobEvery : 1));
      }
      after_job_ = false;
      last_ = number;
    } else if (message.substr(0, 3) == "job") {
      ASSERT_TRUE(absl::SimpleAtoi(message.substr(3), &number));
      EXPECT_GE(number, last_);
      after_job_ = true;
      last_ = number;
    }
  }

  Log& log_;
  const bool reads_;
  Log::Cursor cursor_;
  std::atomic<bool> ended_ = false;
  bool after_job_ = false;
  std::atomic<int64_t> last_ = -1;
  uint64_t subscription_ = 0;
};

void Write(Log& log) {
  for (int i = 1; i <= kEvents; ++i) {
    if (i % kJobEvery == 0) {
      log.SetJob(absl::StrCat("job", i));
    } else {
      log.Append(absl::StrCat("e", i));
    }
    if (i % 3 == 0) log.SetProgress("p");
  }
  log.Close(absl::OkStatus());
}

void AwaitEnd(const Reader& reader) {
  while (!reader.ended()) std::this_thread::yield();
}

TEST(EventLogThreadsTest, EveryWatcherReadsTheWholeStory) {
  // The pump's thread may be the last that has a visitor, which unsubscribes.
  Log log("uid", "job0");
  WatchPump pump;
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(std::make_shared<Reader>(&log, true));
    readers.back()->Watch(readers.back(), &pump);
  }
  std::thread writer([&log] { Write(log); });
  // And some that come and go meanwhile.
  std::thread visitors([&] {
    Rng rng(1);
    for (int i = 0; i < 200; ++i) {
      const auto visitor = std::make_shared<Reader>(&log, rng.Chance(3, 4));
      visitor->Watch(visitor, &pump);
      for (uint64_t turns = rng.Below(50); turns > 0; --turns) {
        std::this_thread::yield();
      }
    }
  });
  writer.join();
  visitors.join();
  for (const auto& reader : readers) {
    AwaitEnd(*reader);
    EXPECT_EQ(reader->last(), kEvents);
  }
}

// Reads on threads of their own, each at its own pace.
TEST(EventLogThreadsTest, CursorsAreIndependent) {
  Log log("uid", "job0");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      Rng rng(t);
      Log::Cursor cursor;
      std::optional<uint64_t> seen;
      while (true) {
        const auto reading = log.Next(cursor);
        if (!reading.has_value() && log.EndedAt(cursor).has_value()) return;
        if (reading.has_value()) seen = reading->sequence;
        if (rng.Chance(1, 50) && seen.has_value()) {
          auto resumed = log.Behind({log.instance(), *seen});
          ASSERT_TRUE(resumed.ok()) << resumed.status();
          cursor = *resumed;
        }
      }
    });
  }
  Write(log);
  for (std::thread& thread : threads) thread.join();
}

TEST(WatchPumpTest, ManyPostsMayComeToOneCallButNoneIsLost) {
  struct Counter : WatchPump::Watcher {
    void Pump() override { seen = posted.load(); }
    std::atomic<int> posted = 0;
    std::atomic<int> seen = 0;
  };
  WatchPump pump;
  const auto counter = std::make_shared<Counter>();
  for (int i = 0; i < 10'000; ++i) {
    ++counter->posted;
    pump.Post(counter);
  }
  while (counter->seen < 10'000) std::this_thread::yield();
}

TEST(WatchPumpTest, ForgetsThoseWhoAreGone) {
  struct Idle : WatchPump::Watcher {
    void Pump() override {}
  };
  WatchPump pump;
  for (int i = 0; i < 1000; ++i) pump.Post(std::make_shared<Idle>());
}

}  // namespace
}  // namespace paceline
