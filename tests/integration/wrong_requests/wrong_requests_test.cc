// What a client gets that asks for something wrong, over the wire: the tables
// are tests/testdata/wrong_requests/*.txt. Nothing changes by any of it.

#include <google/protobuf/descriptor.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "tests/integration/wrong_requests/cluster_snapshot.h"
#include "tests/integration/wrong_requests/prepared_cluster.h"
#include "tests/integration/wrong_requests/request_script.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

// One for all scripts: making it takes longer than all requests.
class WrongRequestsTest : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { cluster_ = new PreparedCluster; }
  static void TearDownTestSuite() { delete cluster_; }

  static PreparedCluster* cluster_;
};

PreparedCluster* WrongRequestsTest::cluster_ = nullptr;

TEST_P(WrongRequestsTest, AreRefusedAndChangeNothing) {
  const RequestScript script(cluster_->channel(), cluster_->words());
  std::string before = SnapshotOf(*cluster_);
  int rows = 0;
  CheckScript(GetParam(), [&](const std::string& block) {
    ++rows;
    std::string answer = script.Run(block);
    std::string after = SnapshotOf(*cluster_);
    const std::string changed = SnapshotDifference(before, after);
    if (!changed.empty()) {
      absl::StrAppend(&answer, "error: it changed something:\n", changed, "\n");
    }
    before = std::move(after);
    return answer;
  });
  std::cout << rows << " wrong requests\n";
}

INSTANTIATE_TEST_SUITE_P(Methods, WrongRequestsTest,
                         testing::ValuesIn(ScriptsIn("wrong_requests")),
                         ScriptName);

// How many requests of each method the scripts have.
std::map<std::string, int> RequestsByMethod() {
  std::map<std::string, int> counts;
  for (const std::string& path : ScriptsIn("wrong_requests")) {
    std::ifstream file(path);
    const std::string script{std::istreambuf_iterator<char>(file), {}};
    for (const absl::string_view block : absl::StrSplit(script, "\n\n")) {
      ++counts[RequestScript::MethodOf(block)];
    }
  }
  return counts;
}

TEST(WrongRequestsTableTest, NamesEveryMethodThatCanBeAskedWrongly) {
  std::map<std::string, int> counts = RequestsByMethod();
  int all = 0;
  for (const auto& [method, count] : counts) all += count;
  EXPECT_GE(all, 60);
  for (const auto* const file :
       {v1::Job::descriptor()->file(), v1::Cluster::descriptor()->file()}) {
    const auto* const service = file->service(0);
    for (int m = 0; m < service->method_count(); ++m) {
      const auto* const method = service->method(m);
      if (method->input_type()->field_count() == 0) continue;
      EXPECT_GT(counts[absl::StrCat(service->name(), "/", method->name())], 0)
          << method->name();
    }
  }
}

TEST(WrongRequestsTableTest, WhatIsNoRequestIsNotOverlooked) {
  const RequestScript script(nullptr, {});
  EXPECT_EQ(script.Run("# Why.\nJobService/NoSuch\nname: \"x\"\n"),
            "error: JobService/NoSuch is no method\n");
  EXPECT_EQ(script.Run("JobService/GetJob\nnam: \"x\"\n"),
            "error: no GetJobRequest\n");
}

TEST(WrongRequestsTableTest, AChangeIsNoticed) {
  EXPECT_THAT(SnapshotDifference("a\nb\nc", "a\nb\nc"), IsEmpty());
  EXPECT_EQ(SnapshotDifference("a\nb\nc", "a\nd\nc"), "- b\n+ d");
  EXPECT_EQ(SnapshotDifference("a", "a\na"), "+ a");
}

}  // namespace
}  // namespace paceline
