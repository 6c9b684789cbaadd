#include "common/mailbox.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

// Longer than any test may take: ends only what would hang.
constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kNone = absl::ZeroDuration();

TEST(MailboxTest, GivesMessagesInTheirOrder) {
  Mailbox<int> mailbox;
  for (int i = 0; i < 3; ++i) mailbox.Put(i);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*mailbox.Take(kNone), i);
}

TEST(MailboxTest, TakesWhatCannotBeCopied) {
  Mailbox<std::unique_ptr<int>> mailbox;
  mailbox.Put(std::make_unique<int>(7));
  EXPECT_EQ(**mailbox.Take(kNone), 7);
}

TEST(MailboxTest, SaysThatNothingCameInTime) {
  Mailbox<int> mailbox;
  EXPECT_EQ(mailbox.Take(absl::Milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(mailbox.Await(absl::Milliseconds(1)));
}

TEST(MailboxTest, KeepsWhatCameBeforeTheClosing) {
  Mailbox<int> mailbox;
  mailbox.Put(1);
  mailbox.Put(2);
  mailbox.Close(absl::AbortedError("fenced"));
  EXPECT_TRUE(mailbox.closed());
  mailbox.Put(3);  // Too late.
  EXPECT_EQ(*mailbox.Take(kNone), 1);
  EXPECT_EQ(*mailbox.Take(kNone), 2);
  EXPECT_EQ(mailbox.Take(kNone).status(), absl::AbortedError("fenced"));
  EXPECT_EQ(mailbox.Take(kNone).status(), absl::AbortedError("fenced"));
}

TEST(MailboxTest, KeepsTheFirstReason) {
  Mailbox<int> mailbox;
  mailbox.Close(absl::AbortedError("first"));
  mailbox.Close(absl::InternalError("second"));
  EXPECT_EQ(mailbox.Take(kNone).status(), absl::AbortedError("first"));

  Mailbox<int> fine;
  fine.Close(absl::OkStatus());
  fine.Close(absl::InternalError("second"));
  EXPECT_EQ(fine.Take(kNone).status().code(), absl::StatusCode::kCancelled);
}

TEST(MailboxTest, AwaitTakesNothing) {
  Mailbox<int> mailbox;
  mailbox.Put(1);
  EXPECT_TRUE(mailbox.Await(kNone));
  EXPECT_TRUE(mailbox.Await(kNone));
  EXPECT_EQ(*mailbox.Take(kNone), 1);
  EXPECT_FALSE(mailbox.Await(kNone));
  mailbox.Close(absl::OkStatus());
  EXPECT_TRUE(mailbox.Await(kNone));
}

TEST(MailboxThreadsTest, AMessageWakesTheOneWhoWaits) {
  Mailbox<int> mailbox;
  absl::Notification about_to_wait;
  std::thread waiting([&] {
    about_to_wait.Notify();
    EXPECT_EQ(*mailbox.Take(kLong), 5);
  });
  about_to_wait.WaitForNotification();
  mailbox.Put(5);
  waiting.join();
}

TEST(MailboxThreadsTest, TheClosingWakesAllWhoWait) {
  Mailbox<int> mailbox;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] {
      EXPECT_EQ(mailbox.Take(kLong).status(), absl::AbortedError("over"));
    });
  }
  mailbox.Close(absl::AbortedError("over"));
  for (std::thread& thread : waiting) thread.join();
}

// Pairs, so that ThreadSanitizer sees memory handed over with the message.
struct Parcel {
  int sender = 0;
  std::unique_ptr<int> number;
};

TEST(MailboxThreadsTest, EveryMessageArrivesOnceAndInItsSendersOrder) {
  constexpr int kSenders = 4;
  constexpr int kEach = 2'000;
  Mailbox<Parcel> mailbox;
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&mailbox, sender] {
      for (int i = 0; i < kEach; ++i) {
        mailbox.Put({sender, std::make_unique<int>(i)});
      }
    });
  }
  std::vector<int> next(kSenders);
  for (int i = 0; i < kSenders * kEach; ++i) {
    const auto parcel = mailbox.Take(kLong);
    ASSERT_TRUE(parcel.ok());
    ASSERT_EQ(*parcel->number, next[parcel->sender]++);
  }
  for (std::thread& thread : senders) thread.join();
  EXPECT_FALSE(mailbox.Await(kNone));
}

TEST(MailboxThreadsTest, ManyTakersShareTheMessages) {
  constexpr int kMessages = 4'000;
  Mailbox<int> mailbox;
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) {
    takers.emplace_back([&] {
      while (true) {
        const auto message = mailbox.Take(kLong);
        if (!message.ok()) {
          EXPECT_TRUE(absl::IsCancelled(message.status()));
          return;
        }
        sum += *message;
      }
    });
  }
  for (int i = 1; i <= kMessages; ++i) mailbox.Put(i);
  mailbox.Close(absl::OkStatus());
  for (std::thread& thread : takers) thread.join();
  EXPECT_EQ(sum.load(), int64_t{kMessages} * (kMessages + 1) / 2);
}

}  // namespace
}  // namespace paceline
