#include "services/coordinator/fleet/fleet.h"

#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/fleet/fleet_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Command = v1::WorkerCommand;

TEST_F(FleetTest, WelcomesAWorkerAndShowsIt) {
  WorkerStream stream;
  v1::WorkerHello hello = Worker("w0");
  hello.set_device("cuda");
  hello.set_gpu_model("H100");
  hello.set_memory_bytes(80);
  hello.set_compute_capability("9.0");
  hello.set_gpu_uuid("GPU-1");
  hello.set_version("0.1.0");
  (*hello.mutable_labels())["rack"] = "7";
  const absl::Time before = absl::Now();
  Come(stream, hello);
  const auto commands = stream.Take();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].registered().lease_ms(), 10'000u);
  ASSERT_EQ(fleet_.Members().size(), 1u);
  const v1::Worker worker = fleet_.Members()[0].worker;
  EXPECT_EQ(worker.name(), "workers/w0");
  EXPECT_EQ(worker.pool(), "default");
  EXPECT_EQ(worker.gpu_model(), "H100");
  EXPECT_EQ(worker.device(), "cuda");
  EXPECT_EQ(worker.memory_bytes(), 80u);
  EXPECT_EQ(worker.compute_capability(), "9.0");
  EXPECT_EQ(worker.gpu_uuid(), "GPU-1");
  EXPECT_EQ(worker.labels().at("rack"), "7");
  EXPECT_EQ(worker.state(), v1::Worker::IDLE);
  const absl::Time connected =
      absl::FromUnixSeconds(worker.connect_time().seconds()) +
      absl::Nanoseconds(worker.connect_time().nanos());
  EXPECT_GE(connected, before - absl::Microseconds(1));
  EXPECT_EQ(changes_, 1);
}

TEST_F(FleetTest, RefusesNamesThatCannotBe) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"),
        std::string(64, 'a'), std::string("-a")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        fleet_.OnWorkerConnected(Worker(name), {}).status()))
        << name;
    EXPECT_TRUE(absl::IsInvalidArgument(
        fleet_.OnServerConnected(Server(name), {}).status()))
        << name;
  }
  for (const std::string& pool :
       {std::string("a b"), std::string("p\x1b[31m"), std::string(64, 'a')}) {
    v1::WorkerHello hello = Worker("w0");
    hello.set_pool(pool);
    const absl::Status refused = fleet_.OnWorkerConnected(hello, {}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << pool;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("hello.pool"));
  }
  v1::ServerHello homeless = Server("s0");
  homeless.clear_address();
  const absl::Status status = fleet_.OnServerConnected(homeless, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.ToString(), HasSubstr("address"));
  EXPECT_THAT(fleet_.Members(), IsEmpty());
  EXPECT_THAT(fleet_.Servers(), IsEmpty());
  EXPECT_EQ(changes_, 0);
}

TEST_F(FleetTest, TheLaterOfTwoOfOneNameStays) {
  WorkerStream first, second;
  const uint64_t replaced = Come(first, Worker("w0"));
  Come(second, Worker("w0"));
  ASSERT_EQ(first.closed().size(), 1u);
  EXPECT_TRUE(absl::IsAborted(first.closed()[0]));
  EXPECT_THAT(first.closed()[0].ToString(),
              HasSubstr("another member has registered as w0"));
  fleet_.OnWorkerDisconnected(replaced);
  EXPECT_THAT(second.closed(), IsEmpty());
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
  EXPECT_TRUE(absl::IsAborted(fleet_.OnWorkerMessage(replaced, Heartbeat())));

  ServerStream old, fresh;
  Come(old, "s0");
  Come(fresh, "s0");
  ASSERT_EQ(old.closed().size(), 1u);
  EXPECT_TRUE(absl::IsAborted(old.closed()[0]));
  EXPECT_THAT(fresh.closed(), IsEmpty());
}

TEST_F(FleetTest, AnswersHeartbeats) {
  WorkerStream worker;
  const uint64_t w = Come(worker, Worker("w0"));
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Heartbeat()).ok());
  EXPECT_THAT(worker.Kinds(),
              ElementsAre(Command::kRegistered, Command::kHeartbeat));
  ServerStream server;
  const uint64_t s = Come(server, "s0");
  v1::ServerMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_replica_lag(7);
  EXPECT_TRUE(fleet_.OnServerMessage(s, heartbeat).ok());
  EXPECT_THAT(server.Kinds(), ElementsAre(v1::ServerCommand::kWelcome,
                                          v1::ServerCommand::kHeartbeat));
  ASSERT_EQ(fleet_.Servers().size(), 1u);
  EXPECT_EQ(fleet_.Servers()[0].replica_lag(), 7u);
}

TEST_F(FleetTest, AWorkerTakesPartInOneJobAfterTheOther) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  AddRun(1);
  AddRun(2);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_THAT(stream.Kinds(),
              ElementsAre(Command::kRegistered, Command::kAssign));
  EXPECT_THAT(States(), ElementsAre("workers/w0 ASSIGNED in 1"));
  EXPECT_EQ(fleet_.Members()[0].worker.job(), "namespaces/test/jobs/j1");
  EXPECT_EQ(fleet_.Members()[0].since, clock_.Now());
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 2)));
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());

  fleet_.Release(w, "another job waits", absl::StatusCode::kOk);
  EXPECT_THAT(States(), ElementsAre("workers/w0 LEAVING in 1"));
  fleet_.Release(w, "again", absl::StatusCode::kOk);  // Is told once.
  const auto stops = stream.Take();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].stop().reason(), "another job waits");
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 2)));

  const int before = changes_;
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving()).ok());
  EXPECT_EQ(changes_, before + 1);
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
  EXPECT_THAT(stream.closed(), IsEmpty());

  EXPECT_TRUE(fleet_.Assign(w, 2).ok());
  const auto commands = stream.Take();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].assign().run(), 2u);
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());
  // Back in the first, it is a new member there.
  fleet_.Release(w, "", absl::StatusCode::kOk);
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving()).ok());
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());
}

// By it stream and run reach each other without asking the fleet.
TEST_F(FleetTest, AWorkersPartInARunIsOverWhenEitherLeaves) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  const auto run = AddRun(1);
  EXPECT_EQ(fleet_.SessionOf(w), nullptr);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  const auto first = fleet_.SessionOf(w);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->run.lock(), run);
  EXPECT_NE(first->Stream(), nullptr);
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving()).ok());
  EXPECT_TRUE(first->over);
  EXPECT_EQ(first->Stream(), nullptr);
  EXPECT_EQ(fleet_.SessionOf(w), nullptr);

  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  const auto second = fleet_.SessionOf(w);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second->worker, first->worker);
  EXPECT_FALSE(second->over);
  fleet_.RemoveRun(1);
  EXPECT_TRUE(second->over);
  EXPECT_EQ(fleet_.SessionOf(w), nullptr);
  EXPECT_EQ(fleet_.SessionOf(w + 1), nullptr);
}

TEST_F(FleetTest, AMessageOfAJobNeedsOne) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  EXPECT_TRUE(absl::IsInvalidArgument(fleet_.OnWorkerMessage(w, Ready())));
  EXPECT_TRUE(absl::IsInvalidArgument(fleet_.OnWorkerMessage(w, {})));
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving()).ok());
  AddRun(1);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  v1::WorkerMessage early;
  early.mutable_push_done();
  EXPECT_TRUE(absl::IsInvalidArgument(fleet_.OnWorkerMessage(w, early)));
}

TEST_F(FleetTest, OnlyFreeWorkersAreAssignedToRunsThatAreThere) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 1)));
  const auto run = AddRun(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w + 1, 1)));
  // One that has ended, but was not removed yet.
  run->Cancel(absl::CancelledError(""));
  EXPECT_FALSE(OutcomeOf(run).status.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 1)));
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
}

TEST_F(FleetTest, AfterTheEndOfItsRunAWorkerLeavesItFirst) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  auto run = AddRun(1);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());
  stream.Take();
  run->Cancel(absl::CancelledError("by an admin"));
  EXPECT_FALSE(OutcomeOf(run).status.ok());
  EXPECT_THAT(stream.Kinds(), ElementsAre(Command::kStop));
  fleet_.RemoveRun(1);
  EXPECT_THAT(States(), ElementsAre("workers/w0 LEAVING"));
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 1)));
  // What it had said before it heard of the end.
  v1::WorkerMessage late;
  late.mutable_push_done();
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, late).ok());
  // The run reaches it no more.
  run->ReleaseWorker(WorkerId{1}, "late");
  EXPECT_THAT(stream.Take(), IsEmpty());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving()).ok());
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
  fleet_.RemoveRun(1);  // Again: nothing.
}

TEST_F(FleetTest, ADrainedWorkerGetsNoJob) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  AddRun(1);
  EXPECT_TRUE(fleet_.SetDraining("w0", true).ok());
  EXPECT_THAT(States(), ElementsAre("workers/w0 DRAINED"));
  EXPECT_TRUE(fleet_.Members()[0].worker.draining());
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 1)));
  EXPECT_TRUE(fleet_.SetDraining("w0", false).ok());
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  // It stays in its job until it is released.
  EXPECT_TRUE(fleet_.SetDraining("w0", true).ok());
  EXPECT_THAT(States(), ElementsAre("workers/w0 ASSIGNED in 1"));
  EXPECT_TRUE(absl::IsNotFound(fleet_.SetDraining("w1", true)));
}

// A connection that breaks takes nobody back.
TEST_F(FleetTest, ADrainedWorkerStaysDrainedWhenItComesAnew) {
  WorkerStream first, second, third;
  const uint64_t w = Come(first, Worker("w0"));
  EXPECT_TRUE(fleet_.SetDraining("w0", true).ok());
  fleet_.OnWorkerDisconnected(w);
  const uint64_t again = Come(second, Worker("w0"));
  EXPECT_THAT(States(), ElementsAre("workers/w0 DRAINED"));
  fleet_.OnWorkerDisconnected(again);
  EXPECT_TRUE(absl::IsNotFound(fleet_.SetDraining("w0", false)));
  Come(third, Worker("w0"));
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
  // Who was never there is not known.
  EXPECT_TRUE(absl::IsNotFound(fleet_.SetDraining("w1", true)));
  WorkerStream other;
  Come(other, Worker("w1"));
  EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE", "workers/w1 IDLE"));
}

TEST_F(FleetTest, AWorkerWhoseProcessEndsGetsNoJob) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  AddRun(1);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Leaving(/*process=*/true)).ok());
  EXPECT_THAT(States(), ElementsAre("workers/w0 DRAINED"));
  EXPECT_TRUE(fleet_.Members()[0].worker.draining());
  EXPECT_TRUE(absl::IsFailedPrecondition(fleet_.Assign(w, 1)));
  fleet_.OnWorkerDisconnected(w);
  EXPECT_THAT(States(), IsEmpty());
}

v1::WorkerMessage Failed() {
  v1::WorkerMessage message;
  message.mutable_failed()->set_message("no such folder");
  return message;
}

TEST_F(FleetTest, WhoFailsIsFreeAndKnownAsUnfitForThatJob) {
  WorkerStream stream;
  const uint64_t e = Come(stream, Evaluator("e0"));
  AddRun(1);
  EXPECT_TRUE(fleet_.Assign(e, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(e, Failed()).ok());
  EXPECT_THAT(States(), ElementsAre("workers/e0 IDLE"));
  EXPECT_THAT(fleet_.Members()[0].unfit_for,
              ElementsAre(Pair("namespaces/test/jobs/j1", "no such folder")));
  const EvaluatorKnown known =
      fleet_.FindEvaluator("namespaces/test/jobs/j1", "");
  EXPECT_FALSE(known.exists);
  EXPECT_EQ(known.why_none, "e0 cannot take part: no such folder");
  EXPECT_TRUE(fleet_.FindEvaluator("namespaces/test/jobs/j2", "").exists);
  // Whoever starts it anew may have mended it.
  WorkerStream again;
  fleet_.OnWorkerDisconnected(e);
  Come(again, Evaluator("e0"));
  EXPECT_TRUE(fleet_.FindEvaluator("namespaces/test/jobs/j1", "").exists);
}

TEST_F(FleetTest, WhoWasUnfitForAJobThatIsForgottenMayTryAgain) {
  constexpr char kJob[] = "namespaces/test/jobs/j1";
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  for (const uint64_t run : {1, 2}) {
    AddRun(run);
    EXPECT_TRUE(fleet_.Assign(w, run).ok());
    EXPECT_TRUE(fleet_.OnWorkerMessage(w, Failed()).ok());
  }
  EXPECT_EQ(fleet_.Members()[0].unfit_for.size(), 2u);
  const int before = changes_;
  fleet_.ForgetJob(kJob);
  EXPECT_EQ(changes_, before + 1);
  EXPECT_THAT(fleet_.Members()[0].unfit_for,
              ElementsAre(Pair("namespaces/test/jobs/j2", "no such folder")));
  fleet_.ForgetJob(kJob);
  EXPECT_EQ(changes_, before + 1);
}

// Its next process may do better, but not for ever.
TEST_F(FleetTest, AProgramThatFailsIsTriedAgainAFewTimes) {
  WorkerStream stream;
  v1::WorkerHello hello = Worker("w0");
  hello.add_programs("resnet");
  const uint64_t w = Come(stream, hello);
  v1::WorkerMessage died;
  died.mutable_failed()->set_code(static_cast<int>(absl::StatusCode::kAborted));
  died.mutable_failed()->set_message("the program exited with 1: ImportError");
  for (int i = 1; i <= 5; ++i) {
    EXPECT_THAT(fleet_.Members()[0].unfit_for, IsEmpty()) << i;
    AddRun(i);
    EXPECT_TRUE(fleet_.Assign(w, i).ok());
    // All runs here are of other jobs: none makes another one's row longer.
    EXPECT_TRUE(fleet_.OnWorkerMessage(w, died).ok());
  }
  AddRun(6);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_THAT(fleet_.Members()[0].unfit_for, IsEmpty()) << i;
    EXPECT_TRUE(fleet_.Assign(w, 6).ok());
    EXPECT_TRUE(fleet_.OnWorkerMessage(w, died).ok());
    EXPECT_THAT(States(), ElementsAre("workers/w0 IDLE"));
  }
  EXPECT_THAT(fleet_.Members()[0].unfit_for,
              ElementsAre(Pair("namespaces/test/jobs/j6",
                               HasSubstr("exited with 1: ImportError"))));
  fleet_.ForgetJob("namespaces/test/jobs/j6");
  EXPECT_THAT(fleet_.Members()[0].unfit_for, IsEmpty());
}

TEST_F(FleetTest, KnowsWhetherThereIsAnEvaluator) {
  WorkerStream worker, evaluator;
  Come(worker, Worker("w0"));
  constexpr char kJob[] = "namespaces/test/jobs/j1";
  EXPECT_FALSE(fleet_.FindEvaluator(kJob, "").exists);
  const uint64_t e = Come(evaluator, Evaluator("e0"));
  EXPECT_TRUE(fleet_.FindEvaluator(kJob, "").exists);
  EXPECT_TRUE(fleet_.SetDraining("e0", true).ok());
  EXPECT_FALSE(fleet_.FindEvaluator(kJob, "").exists);
  EXPECT_TRUE(fleet_.SetDraining("e0", false).ok());
  fleet_.OnWorkerDisconnected(e);
  EXPECT_FALSE(fleet_.FindEvaluator(kJob, "").exists);
}

TEST_F(FleetTest, AnEvaluatorServesTheProgramsThatItHas) {
  constexpr char kJob[] = "namespaces/test/jobs/j1";
  WorkerStream evaluator;
  v1::WorkerHello hello = Evaluator("e0");
  hello.add_programs("resnet");
  hello.add_programs("gpt");
  Come(evaluator, hello);
  EXPECT_TRUE(fleet_.FindEvaluator(kJob, "gpt").exists);
  EXPECT_FALSE(fleet_.FindEvaluator(kJob, "lora").exists);
  EXPECT_EQ(fleet_.FindEvaluator(kJob, "lora").why_none, "");
  EXPECT_FALSE(fleet_.FindEvaluator(kJob, "").exists);
  EXPECT_THAT(fleet_.Members()[0].worker.programs(),
              ElementsAre("resnet", "gpt"));
}

TEST_F(FleetTest, ProgramsHavePlainNames) {
  for (const char* const name : {"", "a b", "../resnet", "resnet\n"}) {
    WorkerStream stream;
    v1::WorkerHello hello = Worker("w0");
    hello.add_programs(name);
    const absl::Status status =
        fleet_.OnWorkerConnected(hello, stream.Open()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("hello.programs"));
  }
  v1::WorkerHello hello = Worker("w0");
  for (int i = 0; i < 65; ++i) hello.add_programs("p");
  WorkerStream stream;
  EXPECT_THAT(
      std::string(
          fleet_.OnWorkerConnected(hello, stream.Open()).status().message()),
      HasSubstr("are 65; at most 64"));
  EXPECT_THAT(fleet_.Members(), IsEmpty());
}

TEST_F(FleetTest, ClosesThoseWhoAreSilentForALease) {
  WorkerStream silent, lively, busy;
  Come(silent, Worker("w0"));
  const uint64_t w1 = Come(lively, Worker("w1"));
  const uint64_t w2 = Come(busy, Worker("w2"));
  ServerStream s0, s1;
  Come(s0, "s0");
  const uint64_t server = Come(s1, "s1");
  AddRun(1);
  EXPECT_TRUE(fleet_.Assign(w2, 1).ok());
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(fleet_.OnWorkerMessage(w1, Heartbeat()).ok());
  v1::ServerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  EXPECT_TRUE(fleet_.OnServerMessage(server, heartbeat).ok());
  clock_.Advance(absl::Seconds(4));
  fleet_.EndSilent();
  EXPECT_THAT(silent.closed(), IsEmpty());  // A lease, not more.
  clock_.Advance(absl::Seconds(1));
  fleet_.EndSilent();
  for (const auto& closed : {silent.closed(), s0.closed()}) {
    ASSERT_EQ(closed.size(), 1u);
    EXPECT_EQ(closed[0], absl::AbortedError("the lease ended: register anew"));
  }
  EXPECT_THAT(lively.closed(), IsEmpty());
  EXPECT_THAT(s1.closed(), IsEmpty());
  EXPECT_THAT(busy.closed(), IsEmpty());  // Its run sees to it.
}

// They say that they live, but not that they have left: a run that is over, or
// one that goes on and hears of it when their stream has ended. An evaluator
// may be in the middle of an evaluation, for which it has half an hour.
TEST_F(FleetTest, ClosesThoseWhoNeverLeaveTheirRun) {
  struct Case {
    v1::WorkerHello hello;
    bool run_ends;
    int leases;
  };
  const Case cases[] = {{Worker("w0"), true, 30},
                        {Worker("w0"), false, 30},
                        {Evaluator("e0"), false, 180}};
  uint64_t number = 0;
  for (const auto& [hello, run_ends, leases] : cases) {
    SCOPED_TRACE(++number);
    WorkerStream stream;
    const uint64_t w = Come(stream, hello);
    const auto run = AddRun(number);
    EXPECT_TRUE(fleet_.Assign(w, number).ok());
    if (run_ends) {
      fleet_.RemoveRun(number);
    } else {
      fleet_.Release(w, "another job waits", absl::StatusCode::kOk);
    }
    Live(w, leases);
    EXPECT_THAT(stream.closed(), IsEmpty());
    clock_.Advance(absl::Seconds(1));
    fleet_.EndSilent();
    EXPECT_EQ(stream.closed().size(), 1u);
    fleet_.OnWorkerDisconnected(w);
    // A run whose files are not open after half an hour has ended itself.
    const bool goes_on = !run_ends && leases < 180;
    EXPECT_EQ(absl::IsNotFound(run->OnWorkerMessage(WorkerId{1}, Ready())),
              goes_on);
  }
}

TEST_F(FleetTest, ALostWorkersRunIsTold) {
  WorkerStream stream;
  const uint64_t w = Come(stream, Worker("w0"));
  const auto run = AddRun(1);
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());
  fleet_.OnWorkerDisconnected(w);
  EXPECT_THAT(States(), IsEmpty());
  EXPECT_TRUE(absl::IsAborted(fleet_.OnWorkerMessage(w, Heartbeat())));
  fleet_.Release(w, "late", absl::StatusCode::kOk);
  // Nobody is ready any more.
  run->Cancel(absl::CancelledError("the test is over"));
  EXPECT_TRUE(absl::IsCancelled(OutcomeOf(run).status));
}

TEST(FleetTermTest, MembersThatKnowOfALaterLeaderAreTurnedAway) {
  uint64_t later = 0;
  const Fleet fleet(&Clock::Real(),
                    {.lease = absl::Seconds(5),
                     .term = 5,
                     .changed = [] {},
                     .later_term = [&later](uint64_t term) { later = term; }});
  v1::SessionHello hello;
  EXPECT_TRUE(fleet.CheckTerm(hello).ok());  // It knows of none.
  hello.set_term(5);
  EXPECT_TRUE(fleet.CheckTerm(hello).ok());
  EXPECT_EQ(later, 0u);
  hello.set_term(6);
  EXPECT_TRUE(absl::IsUnavailable(fleet.CheckTerm(hello)));
  EXPECT_EQ(later, 6u);
}

TEST(FleetTermTest, ACoordinatorThatIsAloneAsksNobodyForATerm) {
  const Fleet fleet(&Clock::Real(),
                    {.lease = absl::Seconds(5), .changed = [] {}});
  v1::SessionHello hello;
  hello.set_term(6);
  EXPECT_TRUE(fleet.CheckTerm(hello).ok());
}

}  // namespace
}  // namespace paceline
