#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/optimizer_spec.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/error_text.h"
#include "services/cli/admin/job_file.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/request_id.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "services/worker/model/architectures.h"
#include "tests/services/cli/admin/samples.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kJob[] = R"(name: namespaces/team/jobs/mnist
displayName: LeNet
labels: {team: vision, number: 7}
annotations:
  note: "yes"
spec:
  model: lenet5
  data: mnist:/data
  paradigm: "dssp:lower=3,upper=15"
  learningRate: 5e-3
  batch_size: 32
  wire: bf16
  seed: 18446744073709551615
  switches:
    - {samples: 20000, paradigm: asp}
  workers: {pools: [a, b], min: 2}
  stop: {epochs: 3, at_target: true}
  checkpoints: {interval: 1m30.5s}
)";

TEST(JobFileTest, EveryKindOfField) {
  const absl::StatusOr<std::vector<v1::Job>> jobs = ParseJobFile(kJob);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  const v1::Job& job = (*jobs)[0];
  EXPECT_EQ(job.name(), "namespaces/team/jobs/mnist");
  EXPECT_EQ(job.display_name(), "LeNet");
  EXPECT_EQ(job.labels().at("number"), "7");
  EXPECT_EQ(job.annotations().at("note"), "yes");
  const v1::JobSpec& spec = job.spec();
  EXPECT_EQ(spec.paradigm(), "dssp:lower=3,upper=15");
  EXPECT_DOUBLE_EQ(spec.learning_rate(), 0.005);
  EXPECT_EQ(spec.batch_size(), 32u);
  EXPECT_EQ(spec.wire(), v1::BF16);
  EXPECT_EQ(spec.seed(), UINT64_MAX);
  EXPECT_EQ(spec.switches(0).samples(), 20000);
  EXPECT_THAT(spec.workers().pools(), ElementsAre("a", "b"));
  EXPECT_TRUE(spec.stop().at_target());
  EXPECT_EQ(spec.checkpoints().interval().seconds(), 90);
  EXPECT_EQ(spec.checkpoints().interval().nanos(), 500'000'000);
}

TEST(JobFileTest, ArgumentsOfAProgram) {
  const absl::StatusOr<std::vector<v1::Job>> jobs = ParseJobFile(R"(
name: own
spec:
  model: "program:resnet-cifar"
  data: program
  arguments: {depth: "18", rate: 0.5, fast: true, note: ""}
)");
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  const auto& arguments = (*jobs)[0].spec().arguments();
  EXPECT_THAT(arguments, SizeIs(4));
  EXPECT_EQ(arguments.at("depth"), "18");
  EXPECT_EQ(arguments.at("rate"), "0.5");
  EXPECT_EQ(arguments.at("fast"), "true");
  EXPECT_EQ(arguments.at("note"), "");
  // They are printed so that they are the same again, in order.
  const std::string yaml = *MessageToYaml((*jobs)[0]);
  const size_t depth = yaml.find("depth: \"18\"");
  EXPECT_NE(depth, std::string::npos) << yaml;
  EXPECT_LT(depth, yaml.find("fast:")) << yaml;
  const auto again = ParseJobFile(yaml);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT((*again)[0].spec().arguments(), SizeIs(4));
  EXPECT_EQ((*again)[0].spec().arguments().at("rate"), "0.5");
}

TEST(JobFileTest, WhatIsPrintedCanBeCreatedAgain) {
  const v1::Job job = RunningJob();
  for (const std::string& text : {*MessageToYaml(job), *MessageToJson(job)}) {
    const absl::StatusOr<std::vector<v1::Job>> read = ParseJobFile(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)[0].spec().SerializeAsString(),
              job.spec().SerializeAsString());
    EXPECT_EQ((*read)[0].name(), job.name());
    // What only a server writes.
    EXPECT_EQ((*read)[0].state(), v1::Job::STATE_UNSPECIFIED);
    EXPECT_FALSE((*read)[0].has_progress());
    EXPECT_THAT((*read)[0].uid(), IsEmpty());
    EXPECT_THAT((*read)[0].etag(), IsEmpty());
  }
}

TEST(JobFileTest, SeveralDocuments) {
  EXPECT_THAT(*ParseJobFile("spec: {model: a}\n---\nspec: {model: b}\n---\n"),
              SizeIs(2));
}

TEST(JobFileTest, WrongFilesSayWhereAndWhat) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"", "is empty"},
      {"---\n---\n", "is empty"},
      {"spec: {model: [", "line 1: this is no YAML"},
      {"a: 1\n b: 2", "line 2: this is no YAML"},
      {"spec:\n\tmodel: x", "line 2: this is no YAML"},
      {"*x", "line 1: this is no YAML"},
      // The YAML library would go on without end.
      {",", "line 1: this is no YAML"},
      {"spec: {}\n---\n,upper=15\"\n  a: b", "line 3: this is no YAML"},
      {"- a", "line 1: must have fields"},
      {"text", "line 1: must have fields"},
      {"name: x", "spec: must be there"},
      {"kind: Job\nspec: {}",
       "line 1: kind: there is no such field; there are name, "},
      {"spec:\n  modle: x",
       "line 2: spec.modle: there is no such field; did you mean model?"},
      {"spec:\n  learning_rte: 1", "did you mean learning_rate?"},
      {"spec:\n  learnigRate: 1", "did you mean learning_rate?"},
      {"spec:\n  zzz: 1", "there is no such field; there are model, data"},
      {"spec:\n  model: x\n  model: y", "line 3: spec.model: is given twice"},
      {"spec:\n  batchSize: 1\n  batch_size: 2",
       "line 3: spec.batch_size: is given twice"},
      {"spec:\n  batch_size: many",
       "line 2: spec.batch_size: \"many\" is not a whole number"},
      {"spec:\n  batch_size: -1", "not a whole number that is not negative"},
      {"spec:\n  batch_size: 4294967296", "is not a whole number"},
      {"spec:\n  batch_size: 1.5", "is not a whole number"},
      {"spec:\n  learning_rate: fast", "is not a number"},
      {"spec:\n  learning_rate: .nan", "is not a number"},
      {"spec:\n  learning_rate: nan", "is not a number"},
      {"spec:\n  learning_rate: [1]", "must be a number"},
      {"spec:\n  stop: {at_target: maybe}", "is not true or false"},
      {"spec:\n  wire: fp8", "is not one of FP32, BF16, FP16, INT8"},
      {"spec:\n  checkpoints: {interval: soon}", "is not a duration such as"},
      {"spec:\n  checkpoints: {interval: inf}", "is not a duration such as"},
      {"spec:\n  workers: 3", "line 2: spec.workers: must have fields"},
      {"spec:\n  workers: {pools: gpu}", "spec.workers.pools: must be a list"},
      {"spec:\n  workers: {pools: [a, {b: c}]}",
       "spec.workers.pools[1]: must be a text"},
      {"spec:\n  switches: [{samples: x}]", "spec.switches[0].samples"},
      {"labels: x\nspec: {}", "line 1: labels: must have entries"},
      {"labels: {a: [1]}\nspec: {}", "labels.a: must be a text"},
      {"labels: {a: 1, a: 2}\nspec: {}", "labels.a: is given twice"},
      {"? [a]\n: b", "line 1: ?: there is no such field"},
  };
  for (const auto& [text, message] : kCases) {
    const absl::Status status = ParseJobFile(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

TEST(JobFileTest, AllThatIsWrongIsSaid) {
  const absl::Status status =
      ParseJobFile("nam: x\nspec:\n  batch_size: many\n  wire: fp8").status();
  EXPECT_THAT(ViolationsOf(status), SizeIs(3)) << status;
  EXPECT_EQ(
      ErrorText(status, "job.yaml"),
      "paceline: job.yaml: refused (INVALID_ARGUMENT: INVALID_FIELD)\n"
      "  line 1: nam: there is no such field; did you mean name?\n"
      "  line 3: spec.batch_size: \"many\" is not a whole number that is "
      "not negative\n"
      "  line 4: spec.wire: \"fp8\" is not one of FP32, BF16, FP16, INT8\n");
}

// Files that would take this program's memory or stack.
TEST(JobFileTest, BombsDoNotGoOff) {
  std::string aliases = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    const std::string name(1, c);
    const std::string last = absl::StrCat("*", std::string(1, c - 1));
    absl::StrAppend(&aliases, name, ": &", name, " [",
                    absl::StrJoin(std::vector<std::string>(10, last), ","),
                    "]\n");
  }
  const std::string kept = "spec:\n  workers:\n    pools: [x]\n";
  const std::vector<std::string> kCases = {
      absl::StrCat(aliases, kept),
      absl::StrCat("spec: {workers: {pools: [", std::string(100'000, ','),
                   "]}}"),
      std::string(100'000, '['),
      std::string(100'000, '{'),
      std::string(kJobFileBytesMax + 1, ' '),
      "a: &a [*a]\nspec: *a",
  };
  for (const std::string& text : kCases) {
    const absl::Status status = ParseJobFile(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text.substr(0, 100);
  }
  std::string many = "labels:\n";
  for (int i = 0; i < 10'001; ++i) absl::StrAppend(&many, "  k", i, ": v\n");
  const absl::Status status = ParseJobFile(many + "spec: {}\n").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 10000"));
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The samples that come with paceline are right as far as this program can
// tell, and every model has one.
TEST(ExamplesTest, AllParse) {
  std::vector<std::string> models;
  for (const auto& entry :
       std::filesystem::directory_iterator("deploy/examples")) {
    SCOPED_TRACE(entry.path());
    const absl::StatusOr<std::vector<v1::Job>> jobs =
        ParseJobFile(ReadAll(entry.path()));
    ASSERT_TRUE(jobs.ok()) << ErrorText(jobs.status(), "");
    for (const v1::Job& job : *jobs) {
      EXPECT_EQ(job.name(), entry.path().stem());
      const v1::JobSpec& spec = job.spec();
      models.push_back(spec.model());
      EXPECT_TRUE(MakePolicy(spec.paradigm()).ok()) << spec.paradigm();
      for (const v1::PlannedSwitch& planned : spec.switches()) {
        EXPECT_TRUE(MakePolicy(planned.paradigm()).ok()) << planned.paradigm();
      }
      if (!spec.optimizer().empty()) {
        EXPECT_TRUE(ParseOptimizerSpec(spec.optimizer()).ok());
      }
      if (!spec.schedule().empty()) {
        EXPECT_TRUE(ParseRateSpec(spec.schedule()).ok());
      }
    }
  }
  for (const Architecture& architecture : Architectures()) {
    EXPECT_THAT(models, testing::Contains(std::string(architecture.name)));
  }
}

TEST(FieldSettingTest, FieldsAndMask) {
  const absl::StatusOr<JobUpdate> update = ParseJobUpdate(
      {"spec.learningRate=0.01", "spec.stop.epochs=5", "display_name=a: b",
       "spec.workers.max=null", "spec.checkpoints.interval=5m",
       "spec.paradigm=dssp:lower=3,upper=15",
       "spec.evaluation={every: 10, defer: true}"});
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_THAT(
      update->request.update_mask().paths(),
      ElementsAre("spec.learning_rate", "spec.stop.epochs", "display_name",
                  "spec.workers.max", "spec.checkpoints.interval",
                  "spec.paradigm", "spec.evaluation"));
  const v1::Job& job = update->request.job();
  EXPECT_DOUBLE_EQ(job.spec().learning_rate(), 0.01);
  EXPECT_EQ(job.spec().stop().epochs(), 5u);
  EXPECT_EQ(job.display_name(), "a: b");
  EXPECT_EQ(job.spec().workers().max(), 0u);
  EXPECT_EQ(job.spec().checkpoints().interval().seconds(), 300);
  EXPECT_EQ(job.spec().paradigm(), "dssp:lower=3,upper=15");
  EXPECT_EQ(job.spec().evaluation().every(), 10);
  EXPECT_FALSE(update->needs_present);
}

TEST(FieldSettingTest, OneKeyOfAMapLeavesTheOthers) {
  absl::StatusOr<JobUpdate> update = ParseJobUpdate(
      {"labels.team=nlp", "labels.cost-centre=null", "annotations.a.b/c=x=y"});
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_TRUE(update->needs_present);
  v1::Job present = RunningJob();
  (*present.mutable_labels())["kept"] = "1";
  ApplyMapChanges(present, &*update);
  const v1::Job& job = update->request.job();
  EXPECT_THAT(job.labels(), SizeIs(2));
  EXPECT_EQ(job.labels().at("team"), "nlp");
  EXPECT_EQ(job.labels().at("kept"), "1");
  EXPECT_EQ(job.annotations().at("a.b/c"), "x=y");
  EXPECT_THAT(update->request.update_mask().paths(),
              ElementsAre("labels", "annotations"));
}

TEST(FieldSettingTest, WrongSettings) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"spec.learning_rate", "write FIELD=VALUE"},
      {"=1", "write FIELD=VALUE"},
      {"spec.learnin_rate=1", "did you mean learning_rate?"},
      {"spec.model.name=x", "model has no fields"},
      {"spec..model=x", "there is no such field"},
      {"spec.learning_rate=x", "is not a number"},
      {"spec.arguments.depth=34", "cannot be changed: create another job"},
      {"spec.workers.pools=gpu", "must be a list"},
      {"spec.workers.pools=[gpu", "is no YAML"},
      {"labels=x", "write labels.KEY=VALUE"},
      {"spec.stop=3", "must have fields"},
  };
  for (const auto& [set, message] : kCases) {
    const absl::Status status = ParseJobUpdate({set}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << set;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << set;
  }
  EXPECT_THAT(ViolationsOf(ParseJobUpdate({"a=1", "b=2"}).status()), SizeIs(2));
  EXPECT_THAT(
      std::string(
          ParseJobUpdate({"spec.seed=1", "spec.seed=2"}).status().message()),
      HasSubstr("is set twice"));
}

TEST(ErrorTextTest, Details) {
  EXPECT_EQ(ErrorText(absl::NotFoundError("no\nsuch file"), ""),
            "paceline: no such file\n");
  EXPECT_EQ(ErrorText(InvalidFields(
                          {{"job.spec.model", "unknown"}, {"", "too large"}}),
                      ""),
            "paceline: refused (INVALID_ARGUMENT: INVALID_FIELD)\n"
            "  job.spec.model: unknown\n"
            "  too large\n");
  EXPECT_EQ(ErrorText(RetryLater(WithReason(absl::ResourceExhaustedError(
                                                "too many requests"),
                                            "RATE_LIMIT"),
                                 absl::Milliseconds(1500)),
                      "x"),
            "paceline: x: too many requests (RESOURCE_EXHAUSTED: RATE_LIMIT)\n"
            "  try again in 1.5s\n");
  const std::string state =
      ErrorText(WrongState("namespaces/a/jobs/b", "it has ended"), "");
  EXPECT_THAT(state, HasSubstr("(FAILED_PRECONDITION: WRONG_STATE)\n"));
  EXPECT_THAT(state, HasSubstr("it has ended"));
  // What cannot be read is as if it were not there.
  absl::Status garbage = absl::AbortedError("x");
  for (const char* type : {"ErrorInfo", "BadRequest", "QuotaFailure",
                           "PreconditionFailure", "RetryInfo"}) {
    garbage.SetPayload(absl::StrCat("type.googleapis.com/google.rpc.", type),
                       absl::Cord("\xff\xff\xff"));
  }
  EXPECT_EQ(ErrorText(garbage, ""), "paceline: x\n");
}

TEST(RequestIdTest, IsAUuid) {
  EXPECT_EQ(UuidOf(0, 0), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(UuidOf(UINT64_MAX, UINT64_MAX),
            "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_NE(NewRequestId(), NewRequestId());
}

}  // namespace
}  // namespace paceline
