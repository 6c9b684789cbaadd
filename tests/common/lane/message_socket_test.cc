#include "common/lane/message_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/lane/shared_memory.h"
#include "common/mailbox.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"

namespace paceline {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr size_t kMost = size_t{1} << 20;

// One end, and what came of it.
class End {
 public:
  explicit End(UniqueFd fd)
      : socket_(MessageSocket::PartsOf(std::move(fd)), kMost,
                {.on_message =
                     [this](absl::string_view message) {
                       received_.Put(std::string(message));
                       if (pauses_) socket_.Pause();
                     },
                 .on_sent = [this] { sent_.Put(true); },
                 .on_nudged =
                     [this] {
                       if (reads_when_nudged_) socket_.ReadOn();
                       nudged_.Put(true);
                     },
                 .on_end =
                     [this](const absl::Status& why) { ended_.Put({why}); }}) {}

  // Waits where there is no room.
  void Send(const std::string& message) {
    if (socket_.Send({message})) return;
    ASSERT_TRUE(sent_.Take(kPatience).ok());
  }
  std::string Next() { return *received_.Take(kPatience); }
  bool NothingComes() { return !received_.Take(absl::Milliseconds(50)).ok(); }

  struct Ending {
    absl::Status status;
  };
  bool pauses_ = false;
  bool reads_when_nudged_ = false;
  Mailbox<std::string> received_;
  Mailbox<bool> sent_;
  Mailbox<bool> nudged_;
  Mailbox<Ending> ended_;
  MessageSocket socket_;
};

class MessageSocketTest : public testing::Test {
 protected:
  MessageSocketTest() {
    auto pair = MessageSocket::Pair();
    EXPECT_TRUE(pair.ok()) << pair.status();
    raw_ = (*pair)[1].get();
    mine_ = std::make_unique<End>(std::move((*pair)[0]));
    fd_ = std::move((*pair)[1]);
  }
  End& Theirs() {
    if (theirs_ == nullptr) theirs_ = std::make_unique<End>(std::move(fd_));
    return *theirs_;
  }

  std::unique_ptr<End> mine_;
  UniqueFd fd_;  // The other end, until it is one.
  int raw_ = -1;
  std::unique_ptr<End> theirs_;
};

TEST_F(MessageSocketTest, MessagesOfAllLengthsComeInOrder) {
  Theirs().socket_.ReadOn();
  std::vector<std::string> sent;
  for (const size_t length :
       {size_t{0}, size_t{1}, size_t{100}, size_t{65532}, size_t{65536},
        size_t{200'000}, kMost, size_t{3}}) {
    sent.emplace_back(length, static_cast<char>('a' + sent.size()));
  }
  for (int round = 0; round < 3; ++round) {
    std::thread sender([&] {
      for (const std::string& message : sent) mine_->Send(message);
    });
    for (const std::string& message : sent) {
      EXPECT_TRUE(Theirs().Next() == message) << message.size();
    }
    sender.join();
  }
}

TEST_F(MessageSocketTest, APieceAfterTheOtherIsOneMessage) {
  Theirs().socket_.ReadOn();
  std::vector<std::string> parts;
  std::vector<absl::string_view> pieces;
  std::string whole;
  for (int i = 0; i < 300; ++i) parts.push_back(absl::StrCat(i, ","));
  for (const std::string& part : parts) {
    pieces.push_back(part);
    whole += part;
  }
  EXPECT_TRUE(mine_->socket_.Send(pieces));
  EXPECT_EQ(Theirs().Next(), whole);
}

TEST_F(MessageSocketTest, NothingIsReadBeforeItMayBe) {
  mine_->Send("first");
  EXPECT_TRUE(Theirs().NothingComes());
  Theirs().pauses_ = true;
  mine_->Send("second");
  Theirs().socket_.ReadOn();
  EXPECT_EQ(Theirs().Next(), "first");
  EXPECT_TRUE(Theirs().NothingComes());
  Theirs().socket_.ReadOn();
  EXPECT_EQ(Theirs().Next(), "second");
}

// Both have come at once, so nothing more comes that would wake the thread.
TEST_F(MessageSocketTest, WhoIsNudgedMayReadOn) {
  mine_->Send("first");
  mine_->Send("second");
  Theirs().pauses_ = true;
  Theirs().reads_when_nudged_ = true;
  Theirs().socket_.ReadOn();
  EXPECT_EQ(Theirs().Next(), "first");
  Theirs().socket_.Nudge();
  EXPECT_EQ(Theirs().Next(), "second");
}

TEST_F(MessageSocketTest, WhatFindsNoRoomIsSentWhenThereIs) {
  const std::string large(kMost, 'x');
  EXPECT_FALSE(mine_->socket_.Send({large}));
  EXPECT_FALSE(mine_->sent_.Take(absl::Milliseconds(50)).ok());
  Theirs().socket_.ReadOn();
  EXPECT_TRUE(mine_->sent_.Take(kPatience).ok());
  EXPECT_TRUE(Theirs().Next() == large);
}

TEST_F(MessageSocketTest, ItsEndSaysThatWhatWaitsWillNeverBeSent) {
  const std::string large(kMost, 'x');
  EXPECT_FALSE(mine_->socket_.Send({large}));
  mine_->socket_.End();
  EXPECT_TRUE(mine_->sent_.Take(kPatience).ok());
  EXPECT_TRUE(mine_->socket_.Send({large})) << "goes nowhere";
}

// Behind half a message the other end would take it for the other half.
TEST_F(MessageSocketTest, NothingFollowsWhatWasCutOff) {
  const std::string large(kMost, 'x');
  ASSERT_FALSE(mine_->socket_.Send({large}));
  mine_->socket_.End();
  ASSERT_TRUE(mine_->sent_.Take(kPatience).ok());
  size_t came = 0;
  const auto read_all = [&] {
    std::vector<char> bytes(kMost);
    for (ssize_t n = 1; n > 0;
         came += static_cast<size_t>(std::max(n, ssize_t{0}))) {
      n = recv(raw_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    }
  };
  read_all();
  EXPECT_LT(came, kMost);
  const size_t before = came;
  EXPECT_TRUE(mine_->socket_.Send({"there is room again"}));
  read_all();
  EXPECT_EQ(came, before);
}

TEST_F(MessageSocketTest, AnEndThatIsClosedTakesEverythingAndIsTold) {
  const std::string large(kMost, 'x');
  mine_->socket_.ReadOn();
  EXPECT_FALSE(mine_->socket_.Send({large}));
  fd_.Reset();
  EXPECT_TRUE(mine_->sent_.Take(kPatience).ok());
  const auto ended = mine_->ended_.Take(kPatience);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->status.ok());
  EXPECT_TRUE(mine_->socket_.Send({"more"}));
}

TEST_F(MessageSocketTest, ANudgeIsFeltInItsThread) {
  mine_->socket_.Nudge();
  EXPECT_TRUE(mine_->nudged_.Take(kPatience).ok());
}

TEST_F(MessageSocketTest, AMessageThatIsTooLongEndsTheReading) {
  mine_->socket_.ReadOn();
  const uint32_t length = kMost + 1;
  ASSERT_EQ(write(raw_, &length, sizeof(length)), 4);
  const auto ended = mine_->ended_.Take(kPatience);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(ended->status)) << ended->status;
}

TEST_F(MessageSocketTest, BytesMayComeOneByOne) {
  mine_->socket_.ReadOn();
  std::string bytes("\5\0\0\0abcde\0\0\0\0\1\0\0\0f", 18);
  for (const char byte : bytes) ASSERT_EQ(write(raw_, &byte, 1), 1);
  EXPECT_EQ(mine_->Next(), "abcde");
  EXPECT_EQ(mine_->Next(), "");
  EXPECT_EQ(mine_->Next(), "f");
}

TEST_F(MessageSocketTest, BothEndsMaySendAllTheTime) {
  constexpr int kMessages = 2000;
  mine_->socket_.ReadOn();
  Theirs().socket_.ReadOn();
  std::vector<std::thread> senders;
  for (End* const end : {mine_.get(), theirs_.get()}) {
    senders.emplace_back([end] {
      for (int i = 0; i < kMessages; ++i) {
        end->Send(absl::StrCat(i, std::string(i % 7 == 0 ? 20'000 : 0, '.')));
      }
    });
  }
  for (End* const end : {mine_.get(), theirs_.get()}) {
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_EQ(std::stoi(end->Next()), i);
    }
  }
  for (std::thread& sender : senders) sender.join();
}

TEST(MessageSocketsTest, AreKnownAmongOtherDescriptors) {
  const size_t before = OpenDescriptors();
  {
    const auto pair = MessageSocket::Pair();
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_TRUE(MessageSocket::IsEnd((*pair)[0].get()));
    EXPECT_TRUE(MessageSocket::IsEnd((*pair)[1].get()));
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const UniqueFd read(pipes[0]);
    const UniqueFd write(pipes[1]);
    EXPECT_FALSE(MessageSocket::IsEnd(read.get()));
    const UniqueFd other(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_FALSE(MessageSocket::IsEnd(other.get()));
    const auto memory = SharedMemory::Create("test", 1000);
    EXPECT_FALSE(MessageSocket::IsEnd((*memory)->fd()));
    EXPECT_FALSE(MessageSocket::IsEnd(-1));
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace paceline
