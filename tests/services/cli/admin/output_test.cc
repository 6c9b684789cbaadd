#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/log_view.h"
#include "services/cli/admin/output/member_view.h"
#include "services/cli/admin/output/state_color.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/output/top_view.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/admin/yaml_reader.h"
#include "tests/common/test_paths.h"
#include "tests/services/cli/admin/samples.h"

namespace paceline {
namespace {

using testing::Each;
using testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(kSampleNow);

// Compares with tests/testdata/cli/NAME. With PACELINE_REWRITE=1 it writes the
// file instead: read the diff before it is committed.
void ExpectGolden(const std::string& name, const std::string& got) {
  const std::string path = TestDataPath("cli/" + name);
  if (getenv("PACELINE_REWRITE") != nullptr) {
    std::ofstream(path) << got;
    return;
  }
  std::ostringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(got, want.str()) << name;
}

TEST(OutputTest, Jobs) {
  const v1::Job running = RunningJob();
  const v1::Job pending = PendingJob();
  const std::vector<const v1::Job*> jobs = {&running, &pending};
  const auto text = [&](bool wide, bool namespaces) {
    return RenderTable(
        JobTable(jobs, {.wide = wide, .namespaces = namespaces}, kNow), true);
  };
  ExpectGolden("jobs.txt", text(false, false));
  ExpectGolden("jobs_wide_all.txt", text(true, true));
}

TEST(OutputTest, JobDescriptions) {
  ExpectGolden("job_describe.txt",
               DescribeJob(RunningJob(), {SampleDecision(1), SampleDecision(2)},
                           {ReadyCheckpoint()}, kNow));
  ExpectGolden("job_describe_pending.txt",
               DescribeJob(PendingJob(), {}, {}, kNow));
  v1::Job ended = RunningJob();
  ended.set_state(v1::Job::SUCCEEDED);
  ended.mutable_progress()->clear_samples_per_second();
  ended.set_restore_from("namespaces/default/jobs/mnist/checkpoints/c0");
  ExpectGolden("job_describe_ended.txt", DescribeJob(ended, {}, {}, kNow));
}

TEST(OutputTest, Members) {
  const v1::Worker assigned = AssignedWorker();
  const v1::Worker draining = DrainingWorker();
  const v1::Server server = SampleServer();
  const v1::AuditRecord record = SampleRecord();
  const v1::Checkpoint checkpoint = ReadyCheckpoint();
  ExpectGolden(
      "members.txt",
      absl::StrJoin(
          {RenderTable(WorkerTable({&assigned, &draining}, false, kNow), true),
           RenderTable(WorkerTable({&assigned, &draining}, true, kNow), true),
           DescribeWorker(assigned, kNow),
           RenderTable(ServerTable({&server}, false, kNow), true),
           RenderTable(ServerTable({&server}, true, kNow), true),
           RenderTable(AuditTable({&record}, false), true),
           RenderTable(AuditTable({&record}, true), true),
           RenderTable(CheckpointTable({&checkpoint}, false, kNow), true),
           RenderTable(CheckpointTable({&checkpoint}, true, kNow), true)},
          "\n"));
}

TEST(OutputTest, Logs) {
  ExpectGolden("worker_log.txt", LogText(SampleLog().lines()));
  ExpectGolden("worker_log.json", *MessageToJson(SampleLog()));
}

TEST(OutputTest, Documents) {
  ExpectGolden("job.json", *MessageToJson(RunningJob()));
  ExpectGolden("job.yaml", *MessageToYaml(RunningJob()));
}

// What is printed can be read again, whatever is in it.
TEST(OutputTest, YamlReadsBackAsTheSameMessage) {
  v1::Job job = RunningJob();
  for (const char* value :
       {"yes", "null", "1.5", "", "a: b", "- x", "#", "~", "\"quoted\"",
        "tab\tand\nline", "ümläut", "0x1f", "2026-11-21", ".5", "{}", "\x01"}) {
    (*job.mutable_annotations())[absl::StrCat("key ", value)] = value;
  }
  const absl::StatusOr<std::string> yaml = MessageToYaml(job);
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  YamlReader reader;
  const Json json =
      reader.ReadMessage(YAML::Load(*yaml), *v1::Job::descriptor(), "");
  EXPECT_THAT(reader.violations(), SizeIs(0)) << *yaml;
  v1::Job read;
  ASSERT_TRUE(JsonToMessage(json, &read).ok());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, job))
      << *yaml;
}

TEST(OutputTest, Top) {
  ExpectGolden(
      "top_cluster.txt",
      absl::StrJoin(ClusterTop({PendingJob(), RunningJob()},
                               {DrainingWorker(), AssignedWorker()}, kNow),
                    "\n"));
  // The columns that one looks for stay.
  ExpectGolden(
      "top_80.txt",
      absl::StrJoin(ClusterTop({PendingJob(), RunningJob()},
                               {DrainingWorker(), AssignedWorker()}, kNow, 79),
                    "\n"));
  ExpectGolden("top_job_60.txt", absl::StrJoin(JobTop(RunningJob(), 59), "\n"));
  ExpectGolden("top_job.txt", absl::StrJoin(JobTop(RunningJob()), "\n"));
  ExpectGolden("top_color.txt",
               absl::StrJoin(FitTop(JobTop(RunningJob()),
                                    {.width = 60, .height = 24, .color = true}),
                             "\n"));
}

TEST(OutputTest, StatesHaveColors) {
  EXPECT_EQ(
      PaintStates("NAME  STATE\na  FAILED  RUNNING\nRUNNING-1  x\nPAUSED"),
      "NAME  STATE\na  \x1b[31mFAILED\x1b[0m  RUNNING\nRUNNING-1  x\n"
      "\x1b[33mPAUSED\x1b[0m");
  EXPECT_EQ(PaintStates("a RUNNING b", "\x1b[1m"),
            "a \x1b[32mRUNNING\x1b[0m\x1b[1m b");
  EXPECT_EQ(PaintStates(""), "");
}

TEST(OutputTest, TopFitsItsTerminal) {
  const std::vector<std::string> lines =
      FitTop(ClusterTop({RunningJob(), PendingJob()},
                        {AssignedWorker(), DrainingWorker()}, kNow),
             {.width = 30, .height = 4});
  EXPECT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines, Each(SizeIs(testing::Le(30))));
  EXPECT_EQ(lines.back(), "and 6 more lines");
}

TEST(OutputTest, Rendering) {
  const v1::Job running = RunningJob();
  const v1::Job pending = PendingJob();
  const v1::Decision decision = SampleDecision(1);
  const Printable jobs = {.messages = {&running, &pending}, .table = nullptr};
  EXPECT_EQ(*Render(jobs, OutputFormat::kName, true),
            "namespaces/default/jobs/mnist\nnamespaces/team/jobs/waiting\n");
  EXPECT_EQ(
      *Render(jobs, OutputFormat::kYaml, true),
      absl::StrCat(*MessageToYaml(running), "---\n", *MessageToYaml(pending)));
  const absl::Status nameless =
      Render({.messages = {&decision}, .table = nullptr}, OutputFormat::kName,
             true)
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(nameless)) << nameless;
}

TEST(OutputTest, TablesKeepTheirLines) {
  const Table table = {{"A", "B"}, {{"x\ny\x1b[2J", ""}, {"ü", "2"}}};
  EXPECT_EQ(RenderTable(table, true),
            "A         B\nx y [2J   <none>\nü         2\n");
  EXPECT_EQ(RenderTable(table, false), "x y [2J   <none>\nü         2\n");
  EXPECT_EQ(RenderTable({{"A"}, {}}, true), "");
}

TEST(OutputTest, NaturalOrder) {
  const std::vector<std::string> sorted = {"",    "a",    "a1",  "a02",
                                           "a10", "a10b", "b1x", "b1y"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(NaturalLess(sorted[i], sorted[j]), i < j)
          << sorted[i] << " " << sorted[j];
    }
  }
}

TEST(OutputTest, ShortDurations) {
  const std::vector<std::pair<absl::Duration, std::string>> kCases = {
      {-absl::Seconds(5), "0s"},
      {absl::Seconds(119), "119s"},
      {absl::Minutes(2), "2m"},
      {absl::Minutes(59) + absl::Seconds(59), "59m"},
      {absl::Minutes(200), "3h20m"},
      {absl::Hours(3), "3h"},
      {absl::Hours(51), "2d3h"},
      {absl::Hours(24 * 40), "40d"},
  };
  for (const auto& [duration, text] : kCases) {
    EXPECT_EQ(ShortDuration(duration), text);
  }
}

TEST(OutputTest, Bytes) {
  const std::vector<std::pair<uint64_t, std::string>> kCases = {
      {0, "0 B"},           {1023, "1023 B"},
      {1536, "1.5 KiB"},    {(1 << 20) - 1, "1.0 MiB"},
      {1 << 20, "1.0 MiB"}, {UINT64_MAX, "16.0 EiB"},
  };
  for (const auto& [bytes, text] : kCases) EXPECT_EQ(BytesText(bytes), text);
}

TEST(OutputTest, WatchLines) {
  EXPECT_EQ(StateLine(RunningJob()), "state RUNNING");
  EXPECT_EQ(StateLine(PendingJob()),
            "state PENDING: waits for 2 more workers of pool \"gpu\"");
  EXPECT_EQ(CheckpointLine(ReadyCheckpoint()),
            "checkpoint c1 READY: version 4000, 128000 samples, 482.1 KiB in "
            "0.42 s");
  v1::Checkpoint failed = ReadyCheckpoint();
  failed.set_state(v1::Checkpoint::FAILED);
  failed.set_state_reason("disk full");
  EXPECT_EQ(CheckpointLine(failed), "checkpoint c1 FAILED: disk full");
}

// All parameters of a paradigm fill more than a line: -o wide has them.
TEST(OutputTest, ParadigmsAndWorkersOfAJob) {
  v1::Job job = RunningJob();
  EXPECT_EQ(ShortParadigm(job), "dssp:lower=3,upper=15");
  job.mutable_progress()->set_paradigm("cgp:beta=0.9,delta=0.25,drift=0.25");
  EXPECT_EQ(ShortParadigm(job), "cgp:...");
  EXPECT_EQ(ParadigmText(job), "cgp:beta=0.9,delta=0.25,drift=0.25");
  EXPECT_EQ(WorkersOf(job), 2);
  job.mutable_progress()->mutable_workers(0)->set_state("lost");
  EXPECT_EQ(WorkersOf(job), 1);
  job.set_state(v1::Job::PAUSED);
  EXPECT_EQ(WorkersOf(job), 0);
}

// 100% is said of what is done, and of nothing else.
TEST(OutputTest, ShareIsCut) {
  v1::JobProgress progress;
  EXPECT_EQ(ShareText(progress), "");
  progress.set_samples_total(1000);
  progress.set_samples(999);
  EXPECT_EQ(ShareText(progress), "99%");
  progress.set_samples(1001);
  EXPECT_EQ(ShareText(progress), "100%");
}

TEST(ResourceNameTest, WhatPeopleType) {
  EXPECT_EQ(*JobName("team", "mnist"), "namespaces/team/jobs/mnist");
  EXPECT_EQ(*JobName("team", "namespaces/a/jobs/b"), "namespaces/a/jobs/b");
  EXPECT_EQ(*CheckpointName("team", "namespaces/a/jobs/b", "c"),
            "namespaces/a/jobs/b/checkpoints/c");
  EXPECT_EQ(*CheckpointName("team", "", "b/c"),
            "namespaces/team/jobs/b/checkpoints/c");
  EXPECT_EQ(*CheckpointName("team", "", "namespaces/a/jobs/b/checkpoints/c"),
            "namespaces/a/jobs/b/checkpoints/c");
  EXPECT_EQ(*WorkerName("w0"), "workers/w0");
  EXPECT_EQ(*WorkerName("workers/w0"), "workers/w0");
  for (const char* wrong : {"", "a/b", "/", "jobs/a", "namespaces//jobs/a",
                            "namespaces/a/workers/b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JobName("team", wrong).status()))
        << wrong;
  }
  for (const char* wrong : {"", "c", "a//c", "a/b/c"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(CheckpointName("team", "", wrong).status()))
        << wrong;
  }
  EXPECT_FALSE(WorkerName("servers/s0").ok());
}

}  // namespace
}  // namespace paceline
