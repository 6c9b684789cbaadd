#include "services/coordinator/jobs/page_token.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"

namespace paceline {
namespace {

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

// Its key is its first letter.
google::protobuf::StringValue Item(const std::string& text) {
  google::protobuf::StringValue item;
  item.set_value(text);
  return item;
}

std::string KeyOf(const google::protobuf::StringValue& item) {
  return item.value().substr(0, 1);
}

// The keys of all pages.
std::string AllPages(const std::vector<std::string>& texts, int size) {
  std::vector<google::protobuf::StringValue> items;
  for (const std::string& text : texts) items.push_back(Item(text));
  std::string seen;
  std::string token;
  do {
    const auto start = ReadPage("q", size, token);
    EXPECT_TRUE(start.ok()) << start.status();
    const auto page = TakePage(items, *start, "q", KeyOf);
    EXPECT_LE(page.items.size(), static_cast<size_t>(size));
    for (const auto& item : page.items) seen += KeyOf(item);
    seen += "|";
    token = page.next_page_token;
  } while (!token.empty());
  return seen;
}

TEST(TakePageTest, PagesFollowTheKeys) {
  EXPECT_EQ(AllPages({"c", "a", "e", "b", "d"}, 2), "ab|cd|e|");
  EXPECT_EQ(AllPages({"b", "a"}, 2), "ab|");
  EXPECT_EQ(AllPages({}, 2), "|");
}

TEST(TakePageTest, APageSurvivesTheLossOfItsLastItem) {
  const std::vector<google::protobuf::StringValue> all = {Item("a"), Item("b"),
                                                          Item("c")};
  const auto first = TakePage(all, *ReadPage("q", 2, ""), "q", KeyOf);
  const auto second =
      TakePage(std::vector<google::protobuf::StringValue>{all[0], all[2]},
               *ReadPage("q", 2, first.next_page_token), "q", KeyOf);
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_EQ(KeyOf(second.items[0]), "c");
  EXPECT_THAT(second.next_page_token, IsEmpty());
}

// A client takes no more than so many bytes at once.
TEST(TakePageTest, APageOfLargeItemsEndsBeforeItsSize) {
  const std::string large(kPageBytes * 2 / 5, '.');
  EXPECT_EQ(
      AllPages({"a" + large, "b" + large, "c" + large, "d", "e" + large}, 100),
      "ab|cde|");
  // Somebody must be able to see it, and what is behind it.
  const std::string huge(kPageBytes + 1, '.');
  EXPECT_EQ(AllPages({"a", "b" + huge, "c" + huge, "d"}, 100), "a|b|c|d|");
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
