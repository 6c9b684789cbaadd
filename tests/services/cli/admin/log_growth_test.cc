#include "services/cli/admin/log_growth.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A letter is a line of the process, a digit one of its program.
LogLines Lines(absl::string_view text) {
  LogLines lines;
  for (const char letter : text) {
    v1::LogLine& line = *lines.Add();
    line.set_message(std::string(1, letter));
    line.set_source(letter < 'A' ? v1::LogLine::PROGRAM : v1::LogLine::PROCESS);
  }
  return lines;
}

std::string Since(absl::string_view before, absl::string_view now) {
  const LogLines told = Lines(now);
  std::string since;
  for (const v1::LogLine* line : LinesSince(Lines(before), told)) {
    since += line->message();
  }
  return since;
}

TEST(LogGrowthTest, WhatWasAddedIsNew) {
  EXPECT_EQ(Since("", "abc"), "abc");
  EXPECT_EQ(Since("abc", "abc"), "");
  EXPECT_EQ(Since("abc", "abcde"), "de");
}

TEST(LogGrowthTest, LinesThatAreDroppedAreNotMissed) {
  EXPECT_EQ(Since("abc", "bcd"), "d");
  EXPECT_EQ(Since("abc", "cde"), "de");
  // More than the member keeps, or a new process under the same name.
  EXPECT_EQ(Since("abc", "def"), "def");
  EXPECT_EQ(Since("abc", ""), "");
}

TEST(LogGrowthTest, LinesThatAreAlikeAreTakenForTheSameWhereTheyCanBe) {
  EXPECT_EQ(Since("aab", "abb"), "b");
  EXPECT_EQ(Since("aa", "aaa"), "a");
  EXPECT_EQ(Since("abab", "abababc"), "abc");
}

TEST(LogGrowthTest, EachSourceDropsItsOwnLines) {
  EXPECT_EQ(Since("a1b2", "a1b2c3"), "c3");
  // Of the process, which logs less, nothing is dropped.
  EXPECT_EQ(Since("a12b34", "ab34c5"), "c5");
  // A line of the program that came late stands before one that is known.
  EXPECT_EQ(Since("ab", "a1b2"), "12");
}

TEST(LogGrowthTest, ALineThatHasChangedIsAnotherOne) {
  const LogLines before = Lines("ab");
  LogLines now = Lines("ab");
  (*now.Mutable(1)->mutable_fields())["attempt"] = "2";
  EXPECT_THAT(LinesSince(before, before), IsEmpty());
  EXPECT_THAT(LinesSince(before, now), ElementsAre(&now[0], &now[1]));
}

}  // namespace
}  // namespace paceline
