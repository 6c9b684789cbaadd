#include "services/coordinator/watch/event_log.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using Log = EventLog<std::string>;

// Everything there is for the cursor: "job e1 end:OK"; "job+p1" is the job with
// its progress.
std::string ReadAll(const Log& log, Log::Cursor& cursor,
                    uint64_t* seen = nullptr) {
  std::vector<std::string> got;
  while (const auto reading = log.Next(cursor)) {
    got.push_back(*reading->message);
    if (reading->progress != nullptr) {
      absl::StrAppend(&got.back(), "+", *reading->progress);
    }
    if (seen != nullptr) *seen = reading->sequence;
  }
  if (const auto end = log.EndedAt(cursor)) {
    got.push_back(absl::StrCat("end:", end->ToString()));
  }
  return absl::StrJoin(got, " ");
}

std::string ReadBehind(const Log& log, uint64_t seen) {
  auto cursor = log.Behind({log.instance(), seen});
  return cursor.ok() ? ReadAll(log, *cursor) : cursor.status().ToString();
}

std::string ReadNow(const Log& log) {
  Log::Cursor cursor;
  return ReadAll(log, cursor);
}

TEST(EventLogTest, BeginsWithTheJobAsItIs) {
  Log log("uid", "job0");
  log.Append("e1");
  log.SetJob("job1");
  Log::Cursor cursor;
  EXPECT_EQ(ReadAll(log, cursor), "job1");
  EXPECT_EQ(ReadAll(log, cursor), "");
}

TEST(EventLogTest, ThenEveryEventInOrder) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  EXPECT_EQ(ReadAll(log, cursor), "job0");
  log.Append("e1");
  log.SetJob("job1");
  log.Append("e2");
  EXPECT_EQ(ReadAll(log, cursor), "e1 job1 e2");
  log.Append("e3");
  EXPECT_EQ(ReadAll(log, cursor), "e3");
}

TEST(EventLogTest, OnlyTheLatestProgressAtItsPlaceInTime) {
  Log log("uid", "job0");
  Log::Cursor slow;
  auto fast = slow;
  EXPECT_EQ(ReadAll(log, fast), "job0");
  EXPECT_EQ(ReadAll(log, slow), "job0");
  log.SetProgress("p1");
  EXPECT_EQ(ReadAll(log, fast), "p1");
  EXPECT_EQ(ReadAll(log, fast), "");
  log.Append("e1");
  log.SetProgress("p2");
  log.SetProgress("p3");
  log.Append("e2");
  EXPECT_EQ(ReadAll(log, fast), "e1 p3 e2");
  EXPECT_EQ(ReadAll(log, slow), "e1 p3 e2");
}

TEST(EventLogTest, ANewWatcherGetsTheLatestProgressToo) {
  Log log("uid", "job0");
  log.SetProgress("p1");
  EXPECT_EQ(ReadNow(log), "job0+p1");
}

// The job says more by then: its end, after which no progress comes.
TEST(EventLogTest, AProgressThatIsOlderThanTheJobIsNotReadWithIt) {
  Log log("uid", "job0");
  log.SetProgress("p1");
  log.SetJob("job1");
  EXPECT_EQ(ReadNow(log), "job1");
  log.SetProgress("p2");
  EXPECT_EQ(ReadNow(log), "job1+p2");
}

TEST(EventLogTest, ARefreshedJobIsForThoseWhoBegin) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  EXPECT_EQ(ReadAll(log, cursor), "job0");
  log.RefreshJob("job1");
  EXPECT_EQ(ReadAll(log, cursor), "");
  EXPECT_EQ(ReadNow(log), "job1");
}

TEST(EventLogTest, OneThatResumesGetsWhatItHasNotSeen) {
  Log log("uid", "job0");
  log.Append("e1");
  Log::Cursor cursor;
  uint64_t seen = 0;
  EXPECT_EQ(ReadAll(log, cursor, &seen), "job0");
  log.Append("e2");
  log.Append("e3");
  EXPECT_EQ(ReadBehind(log, seen), "e2 e3");
  EXPECT_EQ(ReadAll(log, cursor, &seen), "e2 e3");
  EXPECT_EQ(ReadBehind(log, seen), "");
  log.Append("e4");
  EXPECT_EQ(ReadBehind(log, seen), "e4");
}

TEST(EventLogTest, AProgressHasTheTokenOfTheEventBeforeIt) {
  Log log("uid", "job0");
  log.Append("e1");
  log.SetProgress("p1");
  Log::Cursor cursor;
  uint64_t seen = 0;
  EXPECT_EQ(ReadAll(log, cursor, &seen), "job0+p1");
  log.SetProgress("p2");
  EXPECT_EQ(ReadAll(log, cursor, &seen), "p2");
  log.Append("e2");
  EXPECT_EQ(ReadBehind(log, seen), "p2 e2");
}

TEST(EventLogTest, OneThatFellBehindGetsTheJobAsItIsThen) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  uint64_t seen = 0;
  ReadAll(log, cursor, &seen);
  for (size_t i = 0; i < Log::kKept; ++i) log.Append("x");
  auto within = cursor;
  ReadAll(log, within);
  EXPECT_EQ(ReadBehind(log, seen).size(), 2 * Log::kKept - 1);  // All of them.
  log.SetJob("job1");
  EXPECT_EQ(ReadAll(log, cursor), "job1");
  EXPECT_EQ(ReadAll(log, within), "job1");
  EXPECT_EQ(ReadBehind(log, seen), "job1");
  log.Append("e");
  EXPECT_EQ(ReadAll(log, cursor), "e");
}

TEST(EventLogTest, FromTheStartOnComesEverything) {
  Log log("uid", "job0");
  log.Append("e1");
  log.SetJob("job1");
  log.SetProgress("p1");
  Log::Cursor cursor = Log::AtStart();
  EXPECT_EQ(ReadAll(log, cursor), "job0 e1 job1 p1");
  // Or the job as it is, once the first is not kept any more.
  for (size_t i = 0; i < Log::kKept; ++i) log.Append("x");
  cursor = Log::AtStart();
  EXPECT_EQ(ReadAll(log, cursor), "job1+p1");
}

TEST(EventLogTest, WhatHasNotHappenedIsNoPlace) {
  Log log("uid", "job0");
  log.Append("e1");
  EXPECT_EQ(ReadBehind(log, 1), "");
  EXPECT_TRUE(absl::IsInvalidArgument(log.Behind({"uid", 2}).status()));
}

TEST(ResumeTokenTest, IsReadAsItWasWritten) {
  for (const WatchPlace& place :
       {WatchPlace{"uid", 1, {2, 3}}, WatchPlace{"a:b", 0, {}},
        WatchPlace{"-", ~uint64_t{0}, {INT64_MAX, INT64_MAX}}}) {
    const auto read = ParseResumeToken(FormatResumeToken(place));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, place);
  }
}

TEST(ResumeTokenTest, WhatIsNoneIsRefused) {
  const std::string good = FormatResumeToken({"uid", 1});
  const std::vector<std::string> none = {
      "x",
      "????",
      good + "x",
      good.substr(1),
      absl::StrCat(" ", good),
      FormatResumeToken({"", 1}),
      FormatResumeToken({"uid", 1, {-1, 0}}),
      absl::WebSafeBase64Escape("uid:1"),
      std::string(100'000, 'a'),
      std::string("\0\0", 2),
  };
  for (const std::string& token : none) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseResumeToken(token).status()))
        << token;
  }
}

TEST(EventLogTest, AfterItsEndEverybodyGetsAllAndThenTheStatus) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  uint64_t seen = 0;
  ReadAll(log, cursor, &seen);
  log.Append("e1");
  log.SetProgress("p1");
  log.SetJob("ended");
  log.Close(absl::OkStatus());
  log.Append("late");
  log.SetJob("late");
  log.SetProgress("late");
  log.Close(absl::NotFoundError("deleted"));
  EXPECT_EQ(ReadAll(log, cursor), "e1 p1 ended end:OK");
  EXPECT_EQ(ReadAll(log, cursor), "end:OK");
  EXPECT_EQ(ReadBehind(log, seen), "e1 p1 ended end:OK");
  EXPECT_EQ(ReadNow(log), "ended end:OK");
}

TEST(EventLogTest, TheEndIsNotThereBeforeAllIsRead) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  log.Append("e1");
  log.Close(absl::OkStatus());
  EXPECT_EQ(log.EndedAt(cursor), std::nullopt);
  EXPECT_EQ(ReadAll(log, cursor), "job0 end:OK");
}

TEST(EventLogTest, SubscribersAreCalledAfterEveryChangeUntilTheyGo) {
  Log log("uid", "job0");
  Log::Cursor cursor;
  std::vector<std::string> got;
  // Reading from within the call is allowed.
  const uint64_t subscription =
      log.Subscribe([&] { got.push_back(ReadAll(log, cursor)); });
  log.Append("e1");
  log.SetProgress("p1");
  log.SetJob("job1");
  log.Unsubscribe(subscription);
  log.Append("e2");
  EXPECT_EQ(absl::StrJoin(got, ","), "job0,p1,job1");
  log.Subscribe([&] { got.push_back(ReadAll(log, cursor)); });
  log.Close(absl::OkStatus());
  log.Append("late");
  EXPECT_EQ(absl::StrJoin(got, ","), "job0,p1,job1,e2 end:OK");
}

}  // namespace
}  // namespace paceline
