#include "services/coordinator/run/server_group.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/manual_clock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kLong = absl::Minutes(1);

// The commands that one server received: sequence and closing.
class Inbox {
 public:
  void Put(const v1::ServerCommand& command) {
    absl::MutexLock lock(&mu_);
    commands_.push_back(command);
  }
  std::vector<std::string> Texts() {
    absl::MutexLock lock(&mu_);
    std::vector<std::string> texts;
    for (const v1::ServerCommand& command : commands_) {
      EXPECT_EQ(command.run(), 77u);
      texts.push_back(
          absl::StrCat(command.sequence(), ":", command.close().closing()));
    }
    return texts;
  }

 private:
  absl::Mutex mu_;
  std::vector<v1::ServerCommand> commands_ ABSL_GUARDED_BY(mu_);
};

v1::ServerCommand Close(int64_t closing) {
  v1::ServerCommand command;
  command.mutable_close()->set_closing(closing);
  return command;
}

class ServerGroupTest : public ::testing::Test {
 protected:
  std::vector<ServerLink> Links() {
    std::vector<ServerLink> links;
    for (uint64_t i = 0; i < inboxes_.size(); ++i) {
      links.push_back(
          {30 + i, absl::StrCat("s", i), absl::StrCat("127.0.0.1:", 7000 + i),
           [this, i](const v1::ServerCommand& c) { inboxes_[i].Put(c); }});
    }
    return links;
  }

  std::vector<Inbox> inboxes_ = std::vector<Inbox>(2);
  ManualClock clock_;
  ServerGroup group_{/*run=*/77, Links(), &clock_};
};

TEST_F(ServerGroupTest, KnowsItsServersByTheirNumberInTheFleet) {
  EXPECT_EQ(group_.size(), 2u);
  EXPECT_EQ(group_.IndexOf(30), 0);
  EXPECT_EQ(group_.IndexOf(31), 1);
  EXPECT_EQ(group_.IndexOf(0), std::nullopt);
  EXPECT_EQ(group_.IndexOf(32), std::nullopt);
  EXPECT_EQ(group_.NameOf(0), "s0");
  EXPECT_EQ(group_.AddressOf(1), "127.0.0.1:7001");
}

TEST_F(ServerGroupTest, NumbersCommandsFromOneAndAlikeForAll) {
  EXPECT_EQ(group_.last_sequence(), 0u);
  EXPECT_EQ(group_.Broadcast(Close(1)), 1u);
  EXPECT_EQ(group_.Broadcast(Close(2)), 2u);
  group_.SendToAll(Close(0));  // Not numbered.
  EXPECT_EQ(group_.Broadcast(Close(3)), 3u);
  EXPECT_EQ(group_.last_sequence(), 3u);
  for (Inbox& inbox : inboxes_) {
    EXPECT_THAT(inbox.Texts(), ElementsAre("1:1", "2:2", "0:0", "3:3"));
  }
}

TEST_F(ServerGroupTest, CompletesACommandForEachServer) {
  group_.Broadcast({}, [](int server, v1::ServerCommand& command) {
    command.mutable_close()->set_closing(100 + server);
  });
  EXPECT_THAT(inboxes_[0].Texts(), ElementsAre("1:100"));
  EXPECT_THAT(inboxes_[1].Texts(), ElementsAre("1:101"));
}

TEST_F(ServerGroupTest, ACommandIsDoneWhenAllHaveDoneIt) {
  const uint64_t first = group_.Broadcast(Close(1));
  const uint64_t second = group_.Broadcast(Close(2));
  EXPECT_FALSE(group_.AllDone(first));
  group_.Done(0, second);
  EXPECT_FALSE(group_.AllDone(first));
  EXPECT_FALSE(group_.AwaitDone(first, kNone));
  group_.Done(1, first);
  EXPECT_TRUE(group_.AllDone(first));
  EXPECT_FALSE(group_.AllDone(second));
  group_.Done(0, first);  // An older answer takes nothing back.
  group_.Done(1, second);
  EXPECT_TRUE(group_.AwaitDone(second, kNone));
}

TEST_F(ServerGroupTest, WaitsForTheAnswers) {
  std::thread serving([this] {
    group_.Done(0, 1);
    group_.Done(1, 1);
  });
  EXPECT_TRUE(group_.AwaitDone(1, kLong));
  serving.join();
}

TEST_F(ServerGroupTest, OneThatCarriesOutNothingIsStuck) {
  const absl::Duration limit = absl::Seconds(10);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(group_.Stuck(limit), std::nullopt) << "nothing was asked of them";
  group_.Broadcast(Close(1));
  group_.Done(0, 1);
  clock_.Advance(limit);
  EXPECT_EQ(group_.Stuck(limit), std::nullopt);
  group_.Broadcast(Close(2));  // Nothing new for the one that hangs.
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.Stuck(limit), 1);
  group_.Done(1, 1);
  EXPECT_EQ(group_.Stuck(limit), std::nullopt) << "it goes on, be it late";
  group_.Done(1, 1);  // Again: that is no progress.
  clock_.Advance(limit);
  EXPECT_EQ(group_.Stuck(limit), 0);
  group_.Done(0, 2);
  group_.Done(1, 2);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(group_.Stuck(limit), std::nullopt);
}

// Whatever threads broadcast, every server gets the same commands in the order
// of their numbers.
TEST_F(ServerGroupTest, ManyThreadsKeepOneOrder) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i) group_.Broadcast(Close(t * 1000 + i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> texts = inboxes_[0].Texts();
  EXPECT_EQ(texts, inboxes_[1].Texts());
  ASSERT_EQ(texts.size(), 800u);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(texts[i].substr(0, texts[i].find(':')), absl::StrCat(i + 1));
  }
}

}  // namespace
}  // namespace paceline
