#include <string>
#include <vector>

#include "common/status_details.h"
#include "gmock/gmock.h"
#include "services/coordinator/jobs/job_check.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::Job Current() {
  v1::CreateJobRequest request;
  request.set_parent("namespaces/n");
  request.set_job_id("j");
  v1::Job& job = *request.mutable_job();
  job.set_display_name("old");
  (*job.mutable_labels())["a"] = "1";
  (*job.mutable_labels())["b"] = "2";
  v1::JobSpec& spec = *job.mutable_spec();
  spec.set_model("mlp");
  spec.set_data("synthetic:tiny");
  spec.set_learning_rate(0.1);
  spec.mutable_workers()->set_min(2);
  spec.mutable_workers()->set_max(4);
  spec.mutable_workers()->add_pools("fast");
  spec.mutable_stop()->set_epochs(3);
  spec.mutable_stop()->set_seconds(60);
  Rng ids(1);
  v1::Job current = CheckCreate(request, ids).value();
  current.set_uid("u");
  current.set_state(v1::Job::RUNNING);
  current.set_etag("now");
  return current;
}

v1::UpdateJobRequest Request(const std::vector<std::string>& paths) {
  v1::UpdateJobRequest request;
  request.mutable_job()->set_name("namespaces/n/jobs/j");
  for (const std::string& path : paths) {
    request.mutable_update_mask()->add_paths(path);
  }
  return request;
}

v1::Job Updated(const v1::UpdateJobRequest& request) {
  const auto updated = ApplyUpdate(Current(), request);
  EXPECT_TRUE(updated.ok()) << updated.status();
  return updated.value_or(v1::Job());
}

TEST(ApplyUpdateTest, OnlyWhatTheMaskNamesChanges) {
  v1::UpdateJobRequest request =
      Request({"spec.learning_rate", "spec.workers.max", "spec.paradigm",
               "spec.priority"});
  v1::Job& job = *request.mutable_job();
  job.set_display_name("new");
  job.mutable_spec()->set_model("lenet5");
  job.mutable_spec()->set_learning_rate(0.2);
  job.mutable_spec()->set_paradigm("ssp");
  job.mutable_spec()->mutable_workers()->set_min(3);
  job.mutable_spec()->mutable_workers()->set_max(6);
  job.mutable_spec()->set_priority(-7);
  v1::Job want = Current();
  want.mutable_spec()->set_learning_rate(0.2);
  want.mutable_spec()->set_paradigm("ssp:s=3");
  want.mutable_spec()->mutable_workers()->set_max(6);
  want.mutable_spec()->set_priority(-7);
  EXPECT_EQ(Updated(request).DebugString(), want.DebugString());
}

TEST(ApplyUpdateTest, WhoeverNamesAParadigmChoosesIt) {
  v1::UpdateJobRequest request = Request({"spec.paradigm"});
  v1::Job job = Current();
  job.mutable_spec()->set_paradigm("cgp");
  request.mutable_job()->mutable_spec()->set_paradigm("auto");
  job = *ApplyUpdate(job, request);
  EXPECT_TRUE(job.spec().auto_().act());
  EXPECT_THAT(job.spec().paradigm(), HasSubstr("cgp")) << "until another is";
  request.mutable_job()->mutable_spec()->set_paradigm("asp");
  EXPECT_FALSE(ApplyUpdate(job, request)->spec().has_auto_());
  request.mutable_update_mask()->add_paths("spec.auto.act");
  request.mutable_job()->mutable_spec()->mutable_auto_()->set_act(true);
  EXPECT_TRUE(ApplyUpdate(job, request)->spec().auto_().act());
}

TEST(ApplyUpdateTest, AMapOrMessageIsReplacedAsAWhole) {
  v1::UpdateJobRequest request = Request({"labels", "spec.stop"});
  (*request.mutable_job()->mutable_labels())["c"] = "3";
  request.mutable_job()->mutable_spec()->mutable_stop()->set_samples(500);
  const v1::Job updated = Updated(request);
  EXPECT_EQ(updated.labels().size(), 1);
  EXPECT_EQ(updated.labels().at("c"), "3");
  EXPECT_EQ(updated.spec().stop().samples(), 500);
  EXPECT_EQ(updated.spec().stop().epochs(), 0);
  EXPECT_EQ(updated.spec().stop().seconds(), 0);
}

TEST(ApplyUpdateTest, WhatTheMaskNamesAndTheRequestLacksIsTheDefaultAgain) {
  const v1::Job updated = Updated(
      Request({"display_name", "labels", "spec.learning_rate", "spec.stop",
               "spec.workers.max", "spec.workers.min", "spec.batching"}));
  EXPECT_EQ(updated.display_name(), "");
  EXPECT_TRUE(updated.labels().empty());
  EXPECT_DOUBLE_EQ(updated.spec().learning_rate(), 0.005);
  EXPECT_EQ(updated.spec().stop().epochs(), 1);
  EXPECT_EQ(updated.spec().workers().max(), 0);
  EXPECT_EQ(updated.spec().workers().min(), 1);
  EXPECT_EQ(updated.spec().workers().pools(0), "fast");
  EXPECT_EQ(updated.spec().batching(), "even");
}

TEST(ApplyUpdateTest, EveryMutablePathIsTaken) {
  for (const char* path :
       {"display_name", "labels", "annotations", "spec.paradigm",
        "spec.learning_rate", "spec.batching", "spec.workers.max", "spec.stop",
        "spec.stop.epochs", "spec.stop.samples", "spec.stop.seconds",
        "spec.stop.target_accuracy", "spec.stop.target_loss",
        "spec.stop.target", "spec.stop.at_target", "spec.checkpoints",
        "spec.checkpoints.interval", "spec.checkpoints.keep",
        "spec.workers.min"}) {
    EXPECT_TRUE(ApplyUpdate(Current(), Request({path})).ok()) << path;
  }
}

struct BadMask {
  std::vector<std::string> paths;
  std::string says;
};

TEST(ApplyUpdateTest, OtherPathsAreRefusedByName) {
  for (const BadMask& bad : std::vector<BadMask>{
           {{}, "is required"},
           {{"*"}, "name the fields"},
           {{"spec.model"}, "\"spec.model\" cannot be changed; these can be"},
           {{"spec"}, "\"spec\" cannot be changed"},
           {{"spec.workers"}, "\"spec.workers\" cannot be changed"},
           {{"spec.seed"}, "cannot be changed"},
           {{"name"}, "\"name\" cannot be changed"},
           {{"state"}, "\"state\" cannot be changed"},
           {{"etag"}, "\"etag\" cannot be changed"},
           {{"spec.learningRate"}, "\"spec.learningRate\" is no field"},
           {{"colour"}, "\"colour\" is no field of a job"},
           {{""}, "\"\" is no field"},
           {{"labels.a"}, "\"labels.a\" is no field"},
           {{std::string(5000, 'x')}, "...\" is no field"},
           {std::vector<std::string>(65, "labels"), "names 65 fields"}}) {
    SCOPED_TRACE(bad.says);
    const absl::Status status =
        ApplyUpdate(Current(), Request(bad.paths)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    ASSERT_EQ(ViolationsOf(status).size(), 1);
    EXPECT_EQ(ViolationsOf(status)[0].field, "update_mask");
    EXPECT_THAT(ViolationsOf(status)[0].description, HasSubstr(bad.says));
  }
}

TEST(ApplyUpdateTest, EveryBadPathIsNamed) {
  const absl::Status status =
      ApplyUpdate(Current(), Request({"spec.model", "labels", "x"})).status();
  EXPECT_EQ(ViolationsOf(status).size(), 2);
}

TEST(ApplyUpdateTest, TheNewValuesAreChecked) {
  v1::UpdateJobRequest request =
      Request({"spec.workers.max", "spec.learning_rate", "spec.paradigm"});
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.mutable_workers()->set_max(1);
  spec.set_learning_rate(-1);
  spec.set_paradigm("nonesuch");
  const absl::Status status = ApplyUpdate(Current(), request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("job.spec.workers.min"),
                    HasSubstr("job.spec.learning_rate"),
                    HasSubstr("job.spec.paradigm")));
}

TEST(ApplyUpdateTest, AnotherEtagIsAborted) {
  v1::UpdateJobRequest request = Request({"labels"});
  request.mutable_job()->set_etag("then");
  EXPECT_TRUE(absl::IsAborted(ApplyUpdate(Current(), request).status()));
  request.mutable_job()->set_etag("now");
  EXPECT_TRUE(ApplyUpdate(Current(), request).ok());
}

TEST(ApplyUpdateTest, AJobThatEndsIsNotChanged) {
  for (const v1::Job::State state :
       {v1::Job::PAUSING, v1::Job::SAVING, v1::Job::CANCELLING,
        v1::Job::SUCCEEDED, v1::Job::FAILED, v1::Job::CANCELLED}) {
    v1::Job current = Current();
    current.set_state(state);
    const absl::Status status =
        ApplyUpdate(current, Request({"labels"})).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
}

TEST(CheckUpdateTest, NamesTheJob) {
  EXPECT_EQ(CheckUpdate(Request({"labels"}))->Format(), "namespaces/n/jobs/j");
  v1::UpdateJobRequest request = Request({"labels"});
  request.set_request_id("x");
  request.mutable_job()->set_name("j");
  EXPECT_EQ(ViolationsOf(CheckUpdate(request).status()).size(), 2);
  request = Request({"labels"});
  request.clear_job();
  const auto violations = ViolationsOf(CheckUpdate(request).status());
  ASSERT_EQ(violations.size(), 1);
  EXPECT_EQ(violations[0].field, "job");
}

}  // namespace
}  // namespace paceline
