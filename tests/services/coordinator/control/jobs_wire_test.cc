// Jobs whose wire format members of an older release do not know.

#include <string>

#include "common/rpc/wire_format.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One of this release, or of one that knows no format but the first three.
template <class Hello>
Hello HelloOf(const std::string& name, bool old = false) {
  Hello hello;
  hello.set_name(name);
  hello.set_version(old ? "0.0.9" : "0.1.0");
  if (!old) NameFormats(hello);
  return hello;
}

v1::WorkerHello New(const std::string& name) {
  return HelloOf<v1::WorkerHello>(name);
}
v1::WorkerHello Old(const std::string& name) {
  return HelloOf<v1::WorkerHello>(name, /*old=*/true);
}

class JobsWireTest : public JobsTest {
 protected:
  void SetUp() override { Start(); }

  static v1::CreateJobRequest RequestFor(v1::WireFormat wire,
                                         const std::string& id = "a") {
    v1::CreateJobRequest request = Request(id);
    request.mutable_job()->mutable_spec()->set_wire(wire);
    return request;
  }
  absl::Status Created(const v1::CreateJobRequest& request) {
    return jobs().CreateJob(request, "test").status();
  }
  void AddServers(bool old) { AddServer(HelloOf<v1::ServerHello>("s0", old)); }
};

TEST_F(JobsWireTest, AllMembersThatTheJobCouldUseKnowItsFormat) {
  AddServers(/*old=*/false);
  AddWorker(New("w0"));
  AddWorker(Old("w1"));
  const absl::Status refused = Created(RequestFor(v1::INT8));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(refused), "WIRE_FORMAT_NOT_KNOWN");
  EXPECT_EQ(refused.message(),
            "workers/w1 does not know the wire format INT8: its program is of "
            "version 0.0.9. Replace its program, drain it, or choose another "
            "`wire`");
  // Formats of the first release are nobody's trouble.
  for (const v1::WireFormat wire : {v1::FP32, v1::BF16, v1::FP16}) {
    v1::CreateJobRequest request = RequestFor(wire);
    request.set_validate_only(true);
    EXPECT_TRUE(Created(request).ok());
  }
  // As it says.
  ASSERT_TRUE(jobs().SetDraining("workers/w1", true).ok());
  AwaitTraining(Create(RequestFor(v1::INT8)));
}

TEST_F(JobsWireTest, AServerHasToKnowIt) {
  AddServers(/*old=*/true);
  AddWorker(Old("w0"));
  EXPECT_THAT(Created(RequestFor(v1::INT8)).message(),
              AllOf(HasSubstr("servers/s0 does not know the wire format INT8"),
                    HasSubstr("; nor does 1 other. Replace")));
}

// Others than those of its selector and its model it never gets.
TEST_F(JobsWireTest, WhomTheJobCannotGetNeedNot) {
  AddServers(/*old=*/false);
  v1::WorkerHello attic = Old("w1");
  attic.set_pool("attic");
  AddWorker(attic);
  v1::WorkerHello program = Old("w2");
  program.add_programs("resnet");
  AddWorker(program);
  v1::CreateJobRequest request = RequestFor(v1::INT8);
  EXPECT_THAT(Created(request).message(), HasSubstr("workers/w1"));
  request.mutable_job()->mutable_spec()->mutable_workers()->add_pools("cellar");
  EXPECT_TRUE(Created(request).ok());
}

TEST_F(JobsWireTest, AnEvaluatorOfItsModelHasToKnowIt) {
  AddServers(/*old=*/false);
  v1::WorkerHello evaluator = Old("e0");
  evaluator.set_evaluator(true);
  AddWorker(evaluator);
  EXPECT_THAT(Created(RequestFor(v1::INT8)).message(),
              HasSubstr("workers/e0 does not know"));
}

TEST_F(JobsWireTest, AWorkerThatComesLaterAndDoesNotKnowItGetsNoPart) {
  AddServers(/*old=*/false);
  const std::string job = Create(RequestFor(v1::INT8));
  AddWorker(Old("w0"));
  AwaitTurn();
  const v1::Job waits = Get(job);
  EXPECT_EQ(waits.state(), v1::Job::PENDING);
  EXPECT_EQ(waits.state_reason(),
            "needs 1 worker, 0 are free; w0 cannot take part: it does not know "
            "the wire format INT8: its program is of version 0.0.9");
  AddWorker(New("w1"));
  AwaitTraining(job);
  AwaitTurn();
  EXPECT_EQ(Get(job).progress().workers_size(), 1);
  Run("other");  // Has w0.
}

TEST_F(JobsWireTest, AServerThatComesLaterAndDoesNotKnowItGetsNothing) {
  AddWorker(New("w0"));
  v1::CreateJobRequest request = RequestFor(v1::INT8);
  request.mutable_job()->mutable_spec()->set_servers(0);  // All.
  const std::string job = Create(request);
  AddServers(/*old=*/true);
  AwaitTurn();
  EXPECT_EQ(Get(job).state_reason(),
            "waits for 1 parameter servers: 0 connected; s0 does not know the "
            "wire format INT8: its program is of version 0.0.9");
  AddServer(HelloOf<v1::ServerHello>("s1"));
  AwaitTraining(job);
  AddServer(HelloOf<v1::ServerHello>("s2", /*old=*/true));
  for (const v1::Server& server : jobs().fleet().Servers()) {
    EXPECT_EQ(server.jobs_size(), server.name() == "servers/s1" ? 1 : 0);
  }
}

}  // namespace
}  // namespace paceline
