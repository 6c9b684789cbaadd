// Changes of jobs that train, and of those that are about to end.

#include "common/trace_context.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class JobsChangesTest : public JobsTest {
 protected:
  absl::StatusOr<v1::Job> Switch(const std::string& job,
                                 const std::string& paradigm,
                                 bool validate_only = false) {
    v1::SwitchParadigmRequest request;
    request.set_name(job);
    request.set_paradigm(paradigm);
    request.set_validate_only(validate_only);
    return jobs().SwitchParadigm(request, "test");
  }

  // Of that field alone.
  absl::StatusOr<v1::Job> Update(const v1::Job& wanted,
                                 const std::string& path) {
    v1::UpdateJobRequest request;
    *request.mutable_job() = wanted;
    request.mutable_update_mask()->add_paths(path);
    return jobs().UpdateJob(request, "test");
  }
};

TEST_F(JobsChangesTest, AutoKeepsTheParadigmUntilAnotherIsChosen) {
  const std::string job = StartAndRun("a");
  const std::string before = Get(job).spec().paradigm();
  ASSERT_TRUE(Switch(job, "auto").ok());
  EXPECT_EQ(Get(job).spec().paradigm(), before);
  EXPECT_TRUE(Get(job).spec().auto_().act());
  ASSERT_TRUE(Switch(job, "ssp:s=2").ok());
  EXPECT_EQ(Get(job).spec().paradigm(), "ssp:s=2");
  EXPECT_FALSE(Get(job).spec().has_auto_());
}

TEST_F(JobsChangesTest, StaticPartsGoWithNoParadigmThatTakesOfThem) {
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->set_data_assignment("static");
  const std::string job = Create(request);
  AwaitTraining(job);
  for (const char* paradigm : {"bsp:steal=true", "auto"}) {
    const absl::Status refused = Switch(job, paradigm).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("the job has static parts of the data"));
  }
  v1::Job wanted = Get(job);
  wanted.mutable_spec()->set_batching("balanced");
  EXPECT_TRUE(
      absl::IsInvalidArgument(Update(wanted, "spec.batching").status()));
  wanted.mutable_spec()->set_data_assignment("dynamic");
  EXPECT_TRUE(
      absl::IsInvalidArgument(Update(wanted, "spec.data_assignment").status()));
  EXPECT_TRUE(Switch(job, "bsp").ok());
  EXPECT_EQ(Get(job).spec().data_assignment(), "static");
}

// Weights of 40 parameters, for five workers at most.
TEST_F(JobsChangesTest, AParadigmThatAServerHasNoRoomForIsRefused) {
  Start();
  FleetServer& server = AddServer("s0", /*max_bytes=*/800);
  AddWorker("w0");
  v1::CreateJobRequest request = Request("a");
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.set_optimizer("sgd");
  spec.mutable_workers()->set_max(5);
  const std::string job = Create(request);
  AwaitTraining(job);
  EXPECT_EQ(server.AwaitHost(1).rule_bytes(), 0u) << "under asp";
  ASSERT_TRUE(Switch(job, "bsp").ok());
  server.AwaitRuleBytes(160);
  const absl::Status refused = Switch(job, "cgp").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("server s0 has no room for cgp"));
  EXPECT_TRUE(absl::IsResourceExhausted(Switch(job, "cgp", true).status()));
  v1::Job wanted = Get(job);
  EXPECT_EQ(wanted.spec().paradigm(), "bsp");
  wanted.mutable_spec()->set_paradigm("asp:staleness_weight=delay_compensated");
  EXPECT_TRUE(
      absl::IsResourceExhausted(Update(wanted, "spec.paradigm").status()));
  EXPECT_TRUE(Switch(job, "ssp").ok());
  server.AwaitRuleBytes(0);
}

TEST_F(JobsChangesTest, AnUpdateIsOfTheJobAsTheRunHasMadeIt) {
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  v1::PlannedSwitch& planned =
      *request.mutable_job()->mutable_spec()->add_switches();
  planned.set_samples(10);
  planned.set_paradigm("bsp");
  const std::string job = Create(request);
  const auto watcher = Watch(job);
  watcher->AwaitState(v1::Job::RUNNING);
  worker().Push(1);
  watcher->Await("the planned switch",
                 [](const v1::WatchJobResponse& response) {
                   return response.decision().kind() == "switch";
                 });
  v1::Job wanted;
  wanted.set_name(job);
  wanted.mutable_spec()->set_paradigm("asp");
  const auto updated = Update(wanted, "spec.paradigm");
  ASSERT_TRUE(updated.ok()) << updated.status();
  AwaitTurn();
  EXPECT_EQ(Get(job).spec().paradigm(), "asp");
  EXPECT_EQ(Get(job).progress().paradigm(), "asp");
}

TEST_F(JobsChangesTest, WhoOnlyEvaluatesTakesNoOtherCourse) {
  StartWithMembers();
  AddWorker("e0", /*evaluator=*/true);  // It never answers.
  v1::CreateJobRequest request = Request("a");
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.mutable_stop()->set_epochs(1);
  spec.mutable_evaluation()->set_disabled(false);
  spec.mutable_evaluation()->set_every(20);
  spec.mutable_evaluation()->set_defer(true);
  const std::string job = Create(request);
  const auto watcher = Watch(job);
  worker().PushOn();
  watcher->Await("evaluation", [](const v1::WatchJobResponse& response) {
    return response.progress().phase() == "evaluating";
  });
  for (const bool validate_only : {true, false}) {
    const absl::Status refused = Switch(job, "bsp", validate_only).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  }
  EXPECT_EQ(Get(job).spec().paradigm(), "asp");
  v1::Job wanted;
  wanted.set_name(job);
  wanted.mutable_spec()->set_learning_rate(0.5);
  const absl::Status refused = Update(wanted, "spec.learning_rate").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  // There is nothing to be taken up again.
  EXPECT_TRUE(absl::IsFailedPrecondition(Pause(job).status()));
  // What does not concern the training.
  wanted.set_display_name("A");
  EXPECT_TRUE(Update(wanted, "display_name").ok());
  EXPECT_TRUE(Cancel(job).ok());
  watcher->AwaitState(v1::Job::CANCELLED);
}

// The result is not saved yet, but nothing more is trained.
TEST_F(JobsChangesTest, WhoSavesItsResultTakesNoOtherCourse) {
  StartWithMembers();
  server().HoldCheckpoints();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->mutable_stop()->set_epochs(1);
  const std::string job = Create(request);
  const auto watcher = Watch(job);
  worker().PushOn();
  watcher->AwaitCheckpoint(v1::Checkpoint::WRITING);
  EXPECT_TRUE(absl::IsFailedPrecondition(Switch(job, "bsp").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Pause(job).status()));
  server().WriteHeld();
  watcher->AwaitState(v1::Job::SUCCEEDED);
}

// It trains 20 samples, is paused, resumed, and paused before it trains again.
TEST_F(JobsChangesTest, ARunThatDoesNotComeToTrainKeepsTheProgress) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  worker().Push(2);
  while (Get(job).progress().samples() < 20) AwaitTurn();
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  const v1::JobProgress before = Get(job).progress();
  EXPECT_GE(before.samples(), 20u);
  EXPECT_GT(before.parameters(), 0);
  worker().Stop();  // It will not say that it is ready.
  ASSERT_TRUE(Resume(job).ok());
  watcher->AwaitState(v1::Job::STARTING);
  EXPECT_EQ(Get(job).progress().phase(), "loading");
  EXPECT_EQ(Get(job).progress().samples(), before.samples());
  ASSERT_TRUE(Pause(job).ok());
  watcher->AwaitState(v1::Job::PAUSED);
  EXPECT_EQ(Get(job).progress().samples(), before.samples());
  EXPECT_EQ(Get(job).progress().parameters(), before.parameters());
}

TEST_F(JobsChangesTest, MembersAreToldInWhichTraceTheyWork) {
  StartWithMembers();
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string caller = "00-" + id + "-00f067aa0ba902b7-01";
  const auto created = jobs().CreateJob(Request("a"), "test", caller);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->traceparent(), caller);
  const std::string told = server().AwaitHost(1).traceparent();
  EXPECT_EQ(TraceIdOf(told), id);
  EXPECT_NE(told, caller) << "the parent is the run";
  AwaitTraining(created->name());
  ASSERT_TRUE(Pause(created->name()).ok());
  const auto watcher = Watch(created->name());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  // Whoever resumes it does so in another trace, or in none.
  EXPECT_EQ(Resume(created->name())->traceparent(), "");
  const std::string next = server().AwaitHost(2).traceparent();
  EXPECT_EQ(TraceIdOf(next).size(), id.size());
  EXPECT_NE(TraceIdOf(next), id);
}

}  // namespace
}  // namespace paceline
