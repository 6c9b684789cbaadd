#include "services/coordinator/jobs/page_token.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "services/coordinator/jobs/resource_name.h"

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

using Items = google::protobuf::RepeatedPtrField<google::protobuf::StringValue>;

// The keys of all pages.
std::string AllPages(const std::vector<std::string>& texts, int size) {
  std::vector<google::protobuf::StringValue> items;
  for (const std::string& text : texts) items.push_back(Item(text));
  std::string seen;
  std::string token;
  do {
    const auto start = ReadPage("q", size, token);
    EXPECT_TRUE(start.ok()) << start.status();
    Items page;
    token = TakePage(items, *start, KeyOf, &page);
    EXPECT_LE(page.size(), size);
    for (const auto& item : page) seen += KeyOf(item);
    seen += "|";
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
  Items page;
  const std::string token = TakePage(all, *ReadPage("q", 2, ""), KeyOf, &page);
  page.Clear();
  EXPECT_THAT(TakePage(std::vector{all[0], all[2]}, *ReadPage("q", 2, token),
                       KeyOf, &page),
              IsEmpty());
  ASSERT_EQ(page.size(), 1);
  EXPECT_EQ(KeyOf(page[0]), "c");
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

TEST(DigestTest, IsTheFirstHalfOfSha256) {
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_EQ(Digest("abc"), "ba7816bf8f01cfea414140de5dae2223");
}

TEST(DigestTest, MapsCountByContent) {
  v1::Job a;
  v1::Job b;
  for (int i = 0; i < 50; ++i) {
    (*a.mutable_labels())[std::to_string(i)] = "x";
    (*b.mutable_labels())[std::to_string(49 - i)] = "x";
  }
  EXPECT_EQ(DigestOf(a), DigestOf(b));
  (*b.mutable_labels())["0"] = "y";
  EXPECT_NE(DigestOf(a), DigestOf(b));
}

TEST(EtagTest, ChangesWithAllButProgressAndItself) {
  v1::Job job;
  job.set_name("namespaces/n/jobs/j");
  const std::string etag = EtagOf(job);
  job.mutable_progress()->set_samples(10);
  job.set_etag(etag);
  EXPECT_EQ(EtagOf(job), etag);
  job.set_state(v1::Job::PAUSED);
  EXPECT_NE(EtagOf(job), etag);
}

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kLongest(63, 'a');

TEST(ResourceNameTest, IdsAreDnsLabels) {
  for (const std::string& id : std::vector<std::string>{
           "a", "a1", "a-b", "mnist-lenet5", "a--b", kLongest}) {
    EXPECT_TRUE(CheckId("job_id", id).ok()) << id;
  }
  for (const std::string& id : std::vector<std::string>{
           "", "-a", "a-", "1a", "A", "aB", "a_b", "a.b", "a/b", "a b",
           "\xc3\xa4", std::string("a\0b", 3), "-", kLongest + "a"}) {
    const absl::Status status = CheckId("job_id", id);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << id;
    ASSERT_THAT(ViolationsOf(status), SizeIs(1)) << id;
    EXPECT_EQ(ViolationsOf(status)[0].field, "job_id");
  }
}

TEST(ResourceNameTest, NamesComeBackAsTheyWere) {
  const std::string job = "namespaces/team-a/jobs/mnist";
  const auto parsed = ParseJobName("name", job);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->name_space, "team-a");
  EXPECT_EQ(parsed->job, "mnist");
  EXPECT_EQ(parsed->Format(), job);

  const auto checkpoint = ParseCheckpointName("name", job + "/checkpoints/c1");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->job, *parsed);
  EXPECT_EQ(checkpoint->Format(), job + "/checkpoints/c1");

  EXPECT_EQ(*ParseNamespaceName("parent", "namespaces/team-a"), "team-a");
  EXPECT_EQ(*ParseWorkerName("name", "workers/Node-3.local_0"),
            "Node-3.local_0");
  EXPECT_EQ(FormatWorkerName("w0"), "workers/w0");
}

TEST(ResourceNameTest, AllNamespacesAreADashWhereThatIsAllowed) {
  EXPECT_EQ(*ParseNamespaceOrAll("parent", "namespaces/-"), "-");
  EXPECT_EQ(*ParseNamespaceOrAll("parent", "namespaces/n"), "n");
  EXPECT_FALSE(ParseNamespaceName("parent", "namespaces/-").ok());
}

struct BadName {
  std::string name;
  std::string says;
};

TEST(ResourceNameTest, BadJobNamesSayWhatIsWrong) {
  for (const BadName& bad : std::vector<BadName>{
           {"", "is required, as namespaces/NAMESPACE/jobs/JOB"},
           {"mnist", "must be namespaces/NAMESPACE/jobs/JOB"},
           {"jobs/mnist", "must be namespaces/NAMESPACE/jobs/JOB"},
           {"namespaces/n/jobs", "must be namespaces/"},
           {"namespaces/n/jobs/j/", "must be namespaces/"},
           {"/namespaces/n/jobs/j", "must be namespaces/"},
           {"namespaces/n/Jobs/j", "must be namespaces/"},
           {"namespaces//jobs/j", "\"\" is no id"},
           {"namespaces/n/jobs/J", "\"J\" is no id"},
           {"namespaces/../jobs/j", "\"..\" is no id"},
           {"namespaces/-/jobs/j", "\"-\" is no id"},
           {std::string(5000, 'x'), "...\""}}) {
    SCOPED_TRACE(bad.name);
    const absl::Status status = ParseJobName("name", bad.name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    ASSERT_THAT(ViolationsOf(status), SizeIs(1));
    EXPECT_EQ(ViolationsOf(status)[0].field, "name");
    EXPECT_THAT(ViolationsOf(status)[0].description, HasSubstr(bad.says));
  }
}

TEST(ResourceNameTest, BadMemberNamesAreRefused) {
  for (const std::string& name : std::vector<std::string>{
           "", "w0", "workers/", "workers/-w", "workers/a b", "workers/a/b",
           "workers/" + std::string(64, 'w')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWorkerName("name", name).status()))
        << name;
  }
  EXPECT_FALSE(ParseWorkerName("name", "servers/s0").ok());
  EXPECT_FALSE(
      ParseCheckpointName("name", "namespaces/n/jobs/j/checkpoints/").ok());
}

TEST(ResourceNameTest, DrawnIdsAreIdsAndDiffer) {
  Rng rng(1);
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = DrawId("job", rng);
    EXPECT_TRUE(CheckId("job_id", id).ok()) << id;
    ids.insert(id);
  }
  EXPECT_THAT(ids, SizeIs(1000));
  Rng again(1);
  EXPECT_TRUE(ids.contains(DrawId("job", again)));
}

}  // namespace

}  // namespace paceline
