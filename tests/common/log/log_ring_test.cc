#include "common/log/log_ring.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr absl::Time kNow = absl::UnixEpoch();

LogEntry Says(std::string message) {
  LogEntry entry;
  entry.message = std::move(message);
  return entry;
}

std::vector<std::string> MessagesOf(const LogRing& ring, size_t most = 10'000) {
  std::vector<std::string> messages;
  for (const LogEntry& entry : ring.Last(most)) {
    messages.push_back(entry.message);
  }
  return messages;
}

size_t BytesOf(const LogEntry& entry) {
  size_t bytes = entry.message.size();
  for (const auto& [key, value] : entry.fields) {
    bytes += key.size() + value.size();
  }
  return bytes;
}

TEST(LogRingTest, KeepsTheLastLines) {
  LogRing ring({.lines = 3});
  EXPECT_THAT(ring.Last(10), IsEmpty());
  for (int i = 0; i < 5; ++i) ring.Add(Says(absl::StrCat(i)));
  EXPECT_THAT(MessagesOf(ring), ElementsAre("2", "3", "4"));
  EXPECT_THAT(MessagesOf(ring, 2), ElementsAre("3", "4"));
  EXPECT_THAT(MessagesOf(ring, 0), IsEmpty());
}

TEST(LogRingTest, KeepsNoMoreBytesThanItMay) {
  LogRing ring({.lines = 1'000, .bytes = 100, .line_bytes = 60});
  ring.Add(Says(std::string(40, 'a')));
  ring.Add(Says(std::string(40, 'b')));
  EXPECT_THAT(ring.Last(10), SizeIs(2));
  ring.Add(Says(std::string(50, 'c')));
  EXPECT_THAT(MessagesOf(ring),
              ElementsAre(std::string(40, 'b'), std::string(50, 'c')));
  ring.Add(Says(std::string(60, 'd')));
  EXPECT_THAT(MessagesOf(ring), ElementsAre(std::string(60, 'd')));
}

TEST(LogRingTest, ALongLineIsCutAndSaysSo) {
  LogRing ring({.line_bytes = 10});
  ring.Add(Says("0123456789"));
  ring.Add(Says("0123456789a"));
  // Within a character of two bytes.
  ring.Add(Says("012345678\xc3\xa4"));
  const auto entries = ring.Last(10);
  EXPECT_EQ(entries[0].message, "0123456789");
  EXPECT_FALSE(entries[0].cut);
  EXPECT_EQ(entries[1].message, "0123456789");
  EXPECT_TRUE(entries[1].cut);
  EXPECT_EQ(entries[2].message, "012345678");
  EXPECT_TRUE(entries[2].cut);
}

TEST(LogRingTest, FieldsAreCutBehindTheMessage) {
  LogRing ring({.line_bytes = 12});
  LogEntry entry = Says("1234");
  entry.fields = {{"a", "12345"}, {"b", "12"}, {"c", "3"}};
  ring.Add(entry);
  const LogEntry kept = ring.Last(1)[0];
  EXPECT_EQ(kept.message, "1234");
  EXPECT_THAT(kept.fields, ElementsAre(Pair("a", "12345"), Pair("b", "1")));
  EXPECT_TRUE(kept.cut);
  EXPECT_EQ(BytesOf(kept), 12u);
}

TEST(LogRingTest, WhatIsNoUtf8IsMarked) {
  LogRing ring;
  LogEntry entry = Says(
      "a\xff"
      "b");
  entry.fields = {{"k\xfe", "v\xc3"}};
  ring.Add(entry);
  const LogEntry kept = ring.Last(1)[0];
  EXPECT_EQ(kept.message,
            "a\xef\xbf\xbd"
            "b");
  EXPECT_THAT(kept.fields, ElementsAre(Pair("k\xef\xbf\xbd", "v\xef\xbf\xbd")));
}

TEST(LogRingTest, ManyThreadsMayWriteWhileOthersRead) {
  LogRing ring({.lines = 50, .bytes = 1'000, .line_bytes = 100});
  constexpr int kThreads = 4;
  constexpr int kLines = 2'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ring, t] {
      for (int i = 0; i < kLines; ++i) {
        ring.Add(Says(absl::StrCat(t, ":", std::string(i % 90, 'x'))));
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    size_t bytes = 0;
    const auto entries = ring.Last(1'000);
    for (const LogEntry& entry : entries) bytes += BytesOf(entry);
    EXPECT_LE(entries.size(), 50u);
    EXPECT_LE(bytes, 1'000u);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ring.Last(1'000), testing::Not(IsEmpty()));
}

TEST(RingLinesTest, TakesTextApartIntoLines) {
  LogRing ring;
  RingLines lines(&ring);
  lines.Add("one\ntw", kNow);
  EXPECT_THAT(MessagesOf(ring), ElementsAre("one"));
  lines.Add("o\r\n\n  \nthree", kNow);
  EXPECT_THAT(MessagesOf(ring), ElementsAre("one", "two"));
  lines.End(kNow + absl::Seconds(1));
  EXPECT_THAT(MessagesOf(ring), ElementsAre("one", "two", "three"));
  EXPECT_EQ(ring.Last(1)[0].time, kNow + absl::Seconds(1));
  EXPECT_EQ(ring.Last(1)[0].severity, LogEntry::Severity::kUnknown);
}

TEST(RingLinesTest, ALineWithoutEndTakesNoMoreThanALineMay) {
  LogRing ring({.line_bytes = 8});
  RingLines lines(&ring);
  for (int i = 0; i < 1'000; ++i) lines.Add("abc", kNow);
  EXPECT_THAT(ring.Last(1), IsEmpty());
  lines.Add("\nnext\n", kNow);
  const auto entries = ring.Last(10);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].message, "abcabcab");
  EXPECT_TRUE(entries[0].cut);
  EXPECT_FALSE(entries[1].cut);
}

TEST(RingLinesTest, WithoutARingItGoesNowhere) {
  RingLines lines(nullptr);
  lines.Add("one\ntwo", kNow);
  lines.End(kNow);
}

}  // namespace
}  // namespace paceline
