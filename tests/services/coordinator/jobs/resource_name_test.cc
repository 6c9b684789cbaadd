#include "services/coordinator/jobs/resource_name.h"

#include <set>
#include <string>
#include <vector>

#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

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
  EXPECT_EQ(parsed->Parent(), "namespaces/team-a");

  const auto checkpoint = ParseCheckpointName("name", job + "/checkpoints/c1");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->job, *parsed);
  EXPECT_EQ(checkpoint->Format(), job + "/checkpoints/c1");

  EXPECT_EQ(*ParseNamespaceName("parent", "namespaces/team-a"), "team-a");
  EXPECT_EQ(*ParseWorkerName("name", "workers/Node-3.local_0"),
            "Node-3.local_0");
  EXPECT_EQ(*ParseServerName("name", FormatServerName("s0")), "s0");
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
  EXPECT_FALSE(ParseServerName("name", "workers/w0").ok());
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
