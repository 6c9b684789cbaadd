#include "services/coordinator/server_group.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kLong = absl::Minutes(1);

absl::Time At(int seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

// The commands that one server received: sequence and closing.
class Inbox {
 public:
  ServerPeer Peer() {
    return {[this](const v1::ServerCommand& command) {
              absl::MutexLock lock(&mu_);
              commands_.push_back(command);
            },
            [](const absl::Status&) {}};
  }
  std::vector<std::string> Texts() {
    absl::MutexLock lock(&mu_);
    std::vector<std::string> texts;
    for (const v1::ServerCommand& command : commands_) {
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
  int Register(int number) {
    v1::ServerHello hello;
    hello.set_name(absl::StrCat("s", number));
    hello.set_address(absl::StrCat("127.0.0.1:", 7000 + number));
    const auto index =
        group_.Register(hello, inboxes_.at(number).Peer(), At(number));
    EXPECT_TRUE(index.ok());
    return index.value_or(-1);
  }
  void RegisterAll() {
    Register(0);
    Register(1);
  }

  std::vector<Inbox> inboxes_ = std::vector<Inbox>(2);
  ServerGroup group_{2};
};

TEST_F(ServerGroupTest, NumbersServersAsTheyCome) {
  EXPECT_EQ(group_.size(), 2u);
  EXPECT_EQ(group_.registered(), 0u);
  EXPECT_EQ(Register(1), 0);
  EXPECT_FALSE(group_.AwaitAll(kNone));
  EXPECT_EQ(Register(0), 1);
  EXPECT_TRUE(group_.AwaitAll(kNone));
  EXPECT_EQ(group_.registered(), 2u);
  EXPECT_EQ(group_.NameOf(0), "s1");
  EXPECT_EQ(group_.AddressOf(0), "127.0.0.1:7001");
  EXPECT_EQ(group_.NameOf(1), "s0");
}

TEST_F(ServerGroupTest, RefusesOneTooManyAndOneWithoutAnAddress) {
  v1::ServerHello hello;
  hello.set_name("s9");
  EXPECT_TRUE(
      absl::IsInvalidArgument(group_.Register(hello, {}, At(1)).status()));
  RegisterAll();
  hello.set_address("127.0.0.1:7009");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(group_.Register(hello, {}, At(1)).status()));
  EXPECT_EQ(group_.registered(), 2u);
}

TEST_F(ServerGroupTest, NumbersCommandsFromOneAndAlikeForAll) {
  RegisterAll();
  EXPECT_EQ(group_.Broadcast(Close(1)), 1u);
  EXPECT_EQ(group_.Broadcast(Close(2)), 2u);
  group_.SendToAll(Close(0));  // Not numbered.
  group_.Send(1, Close(0));
  EXPECT_EQ(group_.Broadcast(Close(3)), 3u);
  EXPECT_THAT(inboxes_[0].Texts(), ElementsAre("1:1", "2:2", "0:0", "3:3"));
  EXPECT_THAT(inboxes_[1].Texts(),
              ElementsAre("1:1", "2:2", "0:0", "0:0", "3:3"));
}

TEST_F(ServerGroupTest, CompletesACommandForEachServer) {
  RegisterAll();
  group_.Broadcast({}, [](int server, v1::ServerCommand& command) {
    command.mutable_close()->set_closing(100 + server);
  });
  EXPECT_THAT(inboxes_[0].Texts(), ElementsAre("1:100"));
  EXPECT_THAT(inboxes_[1].Texts(), ElementsAre("1:101"));
}

TEST_F(ServerGroupTest, ACommandIsDoneWhenAllHaveDoneIt) {
  RegisterAll();
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

TEST_F(ServerGroupTest, WaitsForServersAndTheirAnswers) {
  std::thread serving([this] {
    RegisterAll();
    group_.Done(0, 1);
    group_.Done(1, 1);
  });
  EXPECT_TRUE(group_.AwaitAll(kLong));
  EXPECT_TRUE(group_.AwaitDone(1, kLong));
  serving.join();
}

TEST_F(ServerGroupTest, NamesOneThatIsSilent) {
  RegisterAll();  // s0 heard at 0 s, s1 at 1 s.
  EXPECT_EQ(group_.SilentSince(At(0)), "");
  EXPECT_EQ(group_.SilentSince(At(1)), "s0");
  group_.Heard(0, At(9));
  EXPECT_EQ(group_.SilentSince(At(1)), "");
  EXPECT_EQ(group_.SilentSince(At(2)), "s1");
}

// Whatever threads broadcast, every server gets the same commands in the order
// of their numbers.
TEST_F(ServerGroupTest, ManyThreadsKeepOneOrder) {
  RegisterAll();
  std::vector<std::thread> threads;
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
