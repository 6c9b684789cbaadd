#include "services/coordinator/jobs/request_check.h"

#include <string>
#include <vector>

#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kJob[] = "namespaces/n/jobs/j";
constexpr char kUuid[] = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

std::vector<std::string> FieldsOf(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ViolationsOf(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(RequestCheckTest, VerbsNameAJob) {
  v1::PauseJobRequest request;
  request.set_name(kJob);
  request.set_etag("e");
  request.set_request_id(kUuid);
  EXPECT_EQ(CheckVerb(request)->Format(), kJob);
  request.set_name("j");
  request.set_etag(std::string(256, 'e'));
  request.set_request_id("1");
  EXPECT_THAT(FieldsOf(CheckVerb(request).status()),
              ElementsAre("name", "etag", "request_id"));
}

TEST(RequestCheckTest, GetAndWatchNameAJob) {
  v1::GetJobRequest get;
  EXPECT_THAT(FieldsOf(CheckGet(get).status()), ElementsAre("name"));
  get.set_name(kJob);
  EXPECT_EQ(CheckGet(get)->Format(), kJob);
  v1::WatchJobRequest watch;
  watch.set_name(kJob);
  EXPECT_TRUE(CheckWatch(watch).ok());
  watch.set_resume_token(std::string(5000, 'x'));
  EXPECT_THAT(FieldsOf(CheckWatch(watch).status()),
              ElementsAre("resume_token"));
}

TEST(RequestCheckTest, RequestIdsAreUuids) {
  for (const char* id : {"", kUuid, "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"}) {
    FieldChecks checks;
    CheckRequestId(id, checks);
    EXPECT_TRUE(checks.ok()) << id;
  }
  for (const char* id : {"1", "f81d4fae7dec11d0a76500a0c91e6bf6",
                         "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
                         "f81d4fae-7dec-11d0-a765-00a0c91e6bf67",
                         "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"}) {
    FieldChecks checks;
    CheckRequestId(id, checks);
    EXPECT_THAT(FieldsOf(checks.status()), ElementsAre("request_id")) << id;
  }
}

TEST(RequestCheckTest, ASwitchHasItsParadigmInFull) {
  v1::SwitchParadigmRequest request;
  request.set_name(kJob);
  request.set_paradigm("ssp");
  request.set_reason("too slow");
  const auto wanted = CheckSwitch(request);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  EXPECT_EQ(wanted->job.Format(), kJob);
  EXPECT_EQ(wanted->paradigm, "ssp:s=3");
}

TEST(RequestCheckTest, ABadSwitchIsRefused) {
  v1::SwitchParadigmRequest request;
  EXPECT_THAT(FieldsOf(CheckSwitch(request).status()),
              ElementsAre("name", "paradigm"));
  request.set_name(kJob);
  request.set_paradigm("ssp:s=-1");
  request.set_reason(std::string(256, 'r'));
  EXPECT_THAT(FieldsOf(CheckSwitch(request).status()),
              ElementsAre("paradigm", "reason"));
  request.set_reason("");
  request.set_paradigm(std::string(5000, 'p'));
  EXPECT_THAT(FieldsOf(CheckSwitch(request).status()), ElementsAre("paradigm"));
}

TEST(RequestCheckTest, ARestoreMayNameACheckpointOfTheJob) {
  v1::RestoreJobRequest request;
  request.set_name(kJob);
  EXPECT_EQ(CheckRestore(request)->checkpoint, std::nullopt);
  request.set_checkpoint(std::string(kJob) + "/checkpoints/c");
  EXPECT_EQ(CheckRestore(request)->checkpoint->checkpoint, "c");
  request.set_checkpoint("namespaces/n/jobs/other/checkpoints/c");
  const absl::Status other = CheckRestore(request).status();
  EXPECT_THAT(FieldsOf(other), ElementsAre("checkpoint"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("is of another job"));
  request.set_checkpoint("c");
  request.set_name("j");
  EXPECT_THAT(FieldsOf(CheckRestore(request).status()),
              ElementsAre("name", "checkpoint"));
}

TEST(RequestCheckTest, ACheckpointsIdIsGivenOrDrawn) {
  v1::CreateCheckpointRequest request;
  request.set_parent(kJob);
  Rng ids(1);
  EXPECT_THAT(CheckCreateCheckpoint(request, ids)->checkpoint,
              StartsWith("checkpoint-"));
  request.set_checkpoint_id("before-switch");
  EXPECT_EQ(CheckCreateCheckpoint(request, ids)->Format(),
            std::string(kJob) + "/checkpoints/before-switch");
  request.set_parent("n");
  request.set_checkpoint_id("../../etc");
  request.set_request_id("x");
  request.set_directory("saved");
  EXPECT_THAT(
      FieldsOf(CheckCreateCheckpoint(request, ids).status()),
      ElementsAre("parent", "checkpoint_id", "request_id", "directory"));
}

template <typename Request>
void ExpectSequencePages() {
  Request request;
  request.set_parent(kJob);
  const auto first = CheckList(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->page.size, 100);
  EXPECT_EQ(first->page.after, 0);
  request.set_page_token(NextSequenceToken(first->page.query, 100));
  EXPECT_EQ(CheckList(request)->page.after, 100);
  // Of another job.
  request.set_parent("namespaces/n/jobs/other");
  EXPECT_THAT(FieldsOf(CheckList(request).status()), ElementsAre("page_token"));
  request.set_parent("");
  request.set_page_size(-1);
  EXPECT_THAT(FieldsOf(CheckList(request).status()),
              ElementsAre("parent", "page_size"));
}

TEST(RequestCheckTest, ListsBelowAJobArePagedBySequence) {
  ExpectSequencePages<v1::ListDecisionsRequest>();
  ExpectSequencePages<v1::ListAccuracyPointsRequest>();
  ExpectSequencePages<v1::ListIterationsRequest>();
}

TEST(RequestCheckTest, CheckpointsArePagedByKey) {
  v1::ListCheckpointsRequest request;
  request.set_parent(kJob);
  EXPECT_EQ(CheckList(request)->page.size, 50);
  request.set_page_size(2000);
  EXPECT_EQ(CheckList(request)->page.size, 1000);
  // A token of the job's decisions.
  v1::ListDecisionsRequest decisions;
  decisions.set_parent(kJob);
  request.set_page_token(
      NextSequenceToken(CheckList(decisions)->page.query, 1));
  EXPECT_THAT(FieldsOf(CheckList(request).status()), ElementsAre("page_token"));
}

TEST(RequestCheckTest, ListsOfTheClusterHaveTheirPages) {
  v1::ListWorkersRequest workers;
  EXPECT_EQ(CheckList(workers)->size, 100);
  workers.set_page_token(NextPageToken(CheckList(workers)->query, "w3"));
  EXPECT_EQ(CheckList(workers)->after, "w3");
  v1::ListServersRequest servers;
  servers.set_page_token(workers.page_token());
  EXPECT_THAT(FieldsOf(CheckList(servers).status()), ElementsAre("page_token"));
  v1::ListAuditRecordsRequest audit;
  EXPECT_EQ(CheckList(audit)->after, 0);
  audit.set_page_size(-7);
  EXPECT_THAT(FieldsOf(CheckList(audit).status()), ElementsAre("page_size"));
}

}  // namespace
}  // namespace paceline
