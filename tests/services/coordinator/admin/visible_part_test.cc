#include "services/coordinator/admin/visible_part.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

template <class Message>
Message Read(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

v1::Worker WorkerIn(const char* job) {
  v1::Worker worker = Read<v1::Worker>(R"pb(
    name: "workers/w0"
    pool: "a100"
    state: ASSIGNED
    samples_per_second: 7
    straggler_score: 4
    straggler: true
  )pb");
  worker.set_job(job);
  return worker;
}

Namespaces Vision() { return *Namespaces::Parse("vision"); }

TEST(VisibleToTest, WhoIsNotBoundSeesEverything) {
  v1::ListServersResponse servers;
  servers.add_servers()->set_folder_trouble("/data/speech is full");
  EXPECT_EQ(VisibleTo(Namespaces(), servers)->SerializeAsString(),
            servers.SerializeAsString());
  const v1::Worker worker = WorkerIn("namespaces/speech/jobs/a");
  EXPECT_EQ(VisibleTo(Namespaces(), worker)->SerializeAsString(),
            worker.SerializeAsString());
}

TEST(VisibleToTest, AWorkerOfAnotherNamespaceHasNoJobAndNoPace) {
  const v1::Worker own = WorkerIn("namespaces/vision/jobs/a");
  EXPECT_EQ(VisibleTo(Vision(), own)->SerializeAsString(),
            own.SerializeAsString());
  for (const char* const job :
       {"namespaces/speech/jobs/a", "namespaces/vision2/jobs/a"}) {
    const auto seen = VisibleTo(Vision(), WorkerIn(job));
    EXPECT_EQ(seen->SerializeAsString(),
              Read<v1::Worker>(R"pb(name: "workers/w0"
                                    pool: "a100"
                                    state: ASSIGNED)pb")
                  .SerializeAsString())
        << job;
  }
}

TEST(VisibleToTest, EveryWorkerOfAListIsLookedAt) {
  v1::ListWorkersResponse list;
  *list.add_workers() = WorkerIn("namespaces/speech/jobs/a");
  *list.add_workers() = WorkerIn("namespaces/vision/jobs/a");
  *list.add_workers() = WorkerIn("");
  list.set_next_page_token("more");
  const auto seen = VisibleTo(Vision(), list);
  ASSERT_THAT(seen->workers(), SizeIs(3));
  EXPECT_EQ(seen->workers(0).job(), "");
  EXPECT_EQ(seen->workers(1).job(), "namespaces/vision/jobs/a");
  EXPECT_EQ(seen->workers(1).samples_per_second(), 7);
  EXPECT_EQ(seen->next_page_token(), "more");
}

TEST(VisibleToTest, AServerShowsTheJobsAndShardsOfTheCaller) {
  const auto seen = VisibleTo(
      Vision(), Read<v1::ListServersResponse>(R"pb(
        servers {
          name: "servers/s0"
          jobs: "namespaces/speech/jobs/a"
          jobs: "namespaces/vision/jobs/b"
          parameter_bytes: 30
          folder_trouble: "/data/speech is full"
          shards { job: "namespaces/vision/jobs/b" shard: 1 bytes: 10 }
          shards { job: "namespaces/speech/jobs/a" bytes: 20 }
        }
      )pb"));
  ASSERT_THAT(seen->servers(), SizeIs(1));
  const v1::Server& server = seen->servers(0);
  EXPECT_THAT(server.jobs(), ElementsAre("namespaces/vision/jobs/b"));
  ASSERT_THAT(server.shards(), SizeIs(1));
  EXPECT_EQ(server.shards(0).job(), "namespaces/vision/jobs/b");
  EXPECT_EQ(server.parameter_bytes(), 30u);
  EXPECT_EQ(server.folder_trouble(), "");
}

TEST(VisibleToTest, AnErrorStaysOne) {
  EXPECT_TRUE(absl::IsNotFound(
      VisibleTo(Vision(), absl::StatusOr<v1::Worker>(absl::NotFoundError("no")))
          .status()));
}

}  // namespace
}  // namespace paceline
