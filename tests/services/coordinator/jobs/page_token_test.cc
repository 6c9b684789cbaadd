#include "services/coordinator/jobs/page_token.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PageTokenTest, SizesFollowTheRules) {
  const PageSizes sizes = {.usual = 50, .most = 1000};
  EXPECT_EQ(ReadPage("q", 0, "", sizes)->size, 50);
  EXPECT_EQ(ReadPage("q", 1, "", sizes)->size, 1);
  EXPECT_EQ(ReadPage("q", 1000, "", sizes)->size, 1000);
  EXPECT_EQ(ReadPage("q", INT32_MAX, "", sizes)->size, 1000);
  const absl::Status negative = ReadPage("q", -1, "", sizes).status();
  EXPECT_TRUE(absl::IsInvalidArgument(negative));
  EXPECT_EQ(ViolationsOf(negative).at(0).field, "page_size");
}

TEST(PageTokenTest, ATokenGivesItsKeyBackToItsQueryOnly) {
  const std::string key("a\0\xff/b", 5);
  const std::string token = NextPageToken("jobs\nn", key);
  EXPECT_EQ(ReadPage("jobs\nn", 10, token)->after, key);
  EXPECT_EQ(ReadPage("jobs\nn", 20, token)->after, key);
  const absl::Status other = ReadPage("jobs\nm", 10, token).status();
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_EQ(ViolationsOf(other).at(0).field, "page_token");
}

TEST(PageTokenTest, WhatIsNoTokenIsRefused) {
  const std::string token = NextPageToken("q", "key");
  for (const std::string& bad : std::vector<std::string>{
           "x", "!!!!", token.substr(0, 20), token + "*",
           std::string(10'000, 'A'), absl::WebSafeBase64Escape("short")}) {
    const absl::Status status = ReadPage("q", 0, bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_EQ(ViolationsOf(status).at(0).field, "page_token");
  }
}

TEST(PageTokenTest, AnyBytesAreAStatusOrAPage) {
  Rng rng(3);
  for (int i = 0; i < 10'000; ++i) {
    std::string token;
    for (uint64_t n = rng.Below(64); n > 0; --n) {
      token.push_back(static_cast<char>(rng.Below(256)));
    }
    const auto page = ReadSequencePage("q", 0, token);
    EXPECT_TRUE(page.ok() == token.empty());
  }
}

TEST(PageTokenTest, SequencesCountFromOne) {
  EXPECT_EQ(ReadSequencePage("q", 0, "")->after, 0);
  EXPECT_EQ(ReadSequencePage("q", 0, NextSequenceToken("q", 17))->after, 17);
  for (const char* key : {"0", "-1", "x", "99999999999999999999", "1x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        ReadSequencePage("q", 0, NextPageToken("q", key)).status()))
        << key;
  }
}

std::vector<std::string> AllPages(std::vector<std::string> items, int size) {
  std::vector<std::string> seen;
  std::string token;
  do {
    const auto start = ReadPage("q", size, token);
    EXPECT_TRUE(start.ok()) << start.status();
    const auto page =
        TakePage(items, *start, "q", [](const std::string& s) { return s; });
    EXPECT_LE(page.items.size(), static_cast<size_t>(size));
    seen.insert(seen.end(), page.items.begin(), page.items.end());
    seen.push_back("|");
    token = page.next_page_token;
  } while (!token.empty());
  return seen;
}

TEST(TakePageTest, PagesFollowTheKeys) {
  EXPECT_THAT(AllPages({"c", "a", "e", "b", "d"}, 2),
              ElementsAre("a", "b", "|", "c", "d", "|", "e", "|"));
  EXPECT_THAT(AllPages({"b", "a"}, 2), ElementsAre("a", "b", "|"));
  EXPECT_THAT(AllPages({}, 2), ElementsAre("|"));
}

TEST(TakePageTest, APageSurvivesTheLossOfItsLastItem) {
  const auto key_of = [](const std::string& s) { return s; };
  const auto first = TakePage(std::vector<std::string>{"a", "b", "c"},
                              *ReadPage("q", 2, ""), "q", key_of);
  const auto second =
      TakePage(std::vector<std::string>{"a", "c"},
               *ReadPage("q", 2, first.next_page_token), "q", key_of);
  EXPECT_THAT(second.items, ElementsAre("c"));
  EXPECT_THAT(second.next_page_token, IsEmpty());
}

TEST(NewestFirstKeyTest, OrdersByTimeThenName) {
  google::protobuf::Timestamp older;
  older.set_seconds(1'700'000'000);
  google::protobuf::Timestamp newer = older;
  newer.set_nanos(1);
  EXPECT_LT(NewestFirstKey(newer, "z"), NewestFirstKey(older, "a"));
  EXPECT_LT(NewestFirstKey(older, "a"), NewestFirstKey(older, "b"));
  EXPECT_LT(NewestFirstKey(older, "a"), NewestFirstKey({}, "a"));
  google::protobuf::Timestamp impossible;
  impossible.set_seconds(INT64_MIN);
  impossible.set_nanos(INT32_MIN);
  EXPECT_LT(NewestFirstKey({}, "a"), NewestFirstKey(impossible, "a"));
}

}  // namespace
}  // namespace paceline
