#include "services/coordinator/jobs/job_check.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::CreateJobRequest SmallRequest() {
  v1::CreateJobRequest request;
  request.set_parent("namespaces/n");
  request.set_job_id("mnist");
  request.mutable_job()->mutable_spec()->set_model("mlp");
  request.mutable_job()->mutable_spec()->set_data("synthetic:tiny");
  return request;
}

TEST(CheckCreateTest, WhatIsCreatedIsNamedCompleteAndPending) {
  v1::CreateJobRequest request = SmallRequest();
  v1::Job& wanted = *request.mutable_job();
  wanted.set_display_name("My job");
  (*wanted.mutable_labels())["team"] = "vision";
  (*wanted.mutable_annotations())["note"] = "x";
  // What only the coordinator may say.
  wanted.set_name("namespaces/other/jobs/other");
  wanted.set_uid("mine");
  wanted.set_state(v1::Job::SUCCEEDED);
  wanted.set_state_reason("because");
  wanted.mutable_progress()->set_samples(7);
  wanted.mutable_create_time()->set_seconds(7);
  wanted.set_etag("e");
  wanted.set_restore_from("r");
  Rng ids(1);
  const auto job = CheckCreate(request, ids);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "namespaces/n/jobs/mnist");
  EXPECT_EQ(job->display_name(), "My job");
  EXPECT_EQ(job->labels().at("team"), "vision");
  EXPECT_EQ(job->annotations().at("note"), "x");
  EXPECT_EQ(job->spec().paradigm(), "bsp");
  EXPECT_EQ(job->state(), v1::Job::PENDING);
  EXPECT_EQ(
      job->uid() + job->state_reason() + job->etag() + job->restore_from(), "");
  EXPECT_FALSE(job->has_progress());
  EXPECT_FALSE(job->has_create_time());
}

TEST(CheckCreateTest, AnIdIsDrawnIfThereIsNone) {
  v1::CreateJobRequest request = SmallRequest();
  request.clear_job_id();
  Rng ids(1);
  const auto first = CheckCreate(request, ids);
  const auto second = CheckCreate(request, ids);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(first->name(), StartsWith("namespaces/n/jobs/job-"));
  EXPECT_TRUE(ParseJobName("name", first->name()).ok());
  EXPECT_NE(first->name(), second->name());
}

struct BadRequestCase {
  std::string field;
  std::string says;
  std::function<void(v1::CreateJobRequest&)> spoil;
};

TEST(CheckCreateTest, EveryBadFieldIsNamed) {
  for (const BadRequestCase& bad : std::vector<BadRequestCase>{
           {"parent", "is required", [](auto& r) { r.clear_parent(); }},
           {"parent", "must be namespaces/NAMESPACE",
            [](auto& r) { r.set_parent("n"); }},
           {"parent", "is no id",
            [](auto& r) { r.set_parent("namespaces/-"); }},
           {"job_id", "is no id", [](auto& r) { r.set_job_id("My Job"); }},
           {"job_id", "is no id",
            [](auto& r) { r.set_job_id(std::string(64, 'a')); }},
           {"job", "is required", [](auto& r) { r.clear_job(); }},
           {"job.spec", "is required",
            [](auto& r) { r.mutable_job()->clear_spec(); }},
           {"job.spec.model", "unknown model",
            [](auto& r) { r.mutable_job()->mutable_spec()->set_model("x"); }},
           {"job.display_name", "has 256 characters; at most 255",
            [](auto& r) {
              r.mutable_job()->set_display_name(std::string(256, 'n'));
            }},
           {"job.labels", "are 65; at most 64",
            [](auto& r) {
              for (int i = 0; i < 65; ++i) {
                (*r.mutable_job()->mutable_labels())[absl::StrCat(i)] = "";
              }
            }},
           {"job.labels", "a key must not be empty",
            [](auto& r) { (*r.mutable_job()->mutable_labels())[""] = "x"; }},
           {"job.labels", "has more than 63 characters",
            [](auto& r) {
              (*r.mutable_job()->mutable_labels())[std::string(64, 'k')] = "";
            }},
           {"job.labels", "the value of \"k\" has more than 63",
            [](auto& r) {
              (*r.mutable_job()->mutable_labels())["k"] = std::string(64, 'v');
            }},
           {"job.annotations", "at most 65536 are allowed",
            [](auto& r) {
              (*r.mutable_job()->mutable_annotations())["k"] =
                  std::string(65'536, 'v');
            }},
           {"request_id", "must be a UUID",
            [](auto& r) { r.set_request_id("1"); }},
           {"request_id", "must be a UUID",
            [](auto& r) {
              r.set_request_id("f81d4fae-7dec-11d0-a765-00a0c91e6bfg");
            }},
       }) {
    SCOPED_TRACE(bad.field + ": " + bad.says);
    v1::CreateJobRequest request = SmallRequest();
    bad.spoil(request);
    Rng ids(1);
    const absl::Status status = CheckCreate(request, ids).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
    const auto violations = ViolationsOf(status);
    ASSERT_EQ(violations.size(), 1) << status;
    EXPECT_EQ(violations[0].field, bad.field);
    EXPECT_THAT(violations[0].description, HasSubstr(bad.says));
  }
}

TEST(CheckCreateTest, AllBadFieldsAreNamedAtOnce) {
  v1::CreateJobRequest request = SmallRequest();
  request.set_parent("x");
  request.set_job_id("-");
  request.set_request_id("?");
  request.mutable_job()->mutable_spec()->set_batch_size(1'000'000);
  Rng ids(1);
  std::vector<std::string> fields;
  for (const FieldViolation& violation :
       ViolationsOf(CheckCreate(request, ids).status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ElementsAre("parent", "job_id", "request_id",
                                  "job.spec.batch_size"));
}

TEST(CheckCreateTest, SizesThatJustFitAreRight) {
  v1::CreateJobRequest request = SmallRequest();
  request.set_job_id(std::string(63, 'a'));
  request.set_request_id("F81d4fae-7dec-11d0-a765-00a0c91e6bf6");
  v1::Job& job = *request.mutable_job();
  std::string name;
  for (int i = 0; i < 255; ++i) name += "\xc3\xa4";
  job.set_display_name(name);
  for (int i = 100; i < 164; ++i) {
    (*job.mutable_labels())[absl::StrCat(i, std::string(60, 'k'))] =
        std::string(63, 'v');
  }
  (*job.mutable_annotations())["k"] = std::string(65'535, 'v');
  Rng ids(1);
  EXPECT_TRUE(CheckCreate(request, ids).ok())
      << CheckCreate(request, ids).status();
}

TEST(CheckEtagTest, OnlyAnotherOneIsAborted) {
  v1::Job job;
  job.set_name("namespaces/n/jobs/j");
  job.set_etag("now");
  EXPECT_TRUE(CheckEtag(job, "").ok());
  EXPECT_TRUE(CheckEtag(job, "now").ok());
  const absl::Status status = CheckEtag(job, "then");
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(ReasonOf(status), "ETAG_MISMATCH");
}

}  // namespace
}  // namespace paceline
