#include <fcntl.h>
#include <signal.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/status_details.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/client.h"
#include "tests/common/loopback_socket.h"
#include "tests/common/sanitized.h"
#include "tests/common/security/test_certificates.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

// Every exit code that docs/cli.md promises, and what is said with it.

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ExitCodeCommandTest : public testing::Test {
 protected:
  ExitCodeCommandTest() {
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
  }

  FakeCluster cluster_;
  CommandRunner command_;
};

TEST_F(ExitCodeCommandTest, OfEveryCode) {
  const std::vector<std::pair<absl::Status, int>> kCases = {
      {absl::OkStatus(), 0},
      {absl::UnknownError("x"), 1},
      {absl::InternalError("x"), 1},
      {absl::UnimplementedError("x"), 1},
      {absl::DataLossError("x"), 1},
      {QuotaExceeded("namespace:default", "has 5 of 5 jobs"), 1},
      {InvalidField("job.spec.batch_size", "must be at least 1"), 2},
      {absl::OutOfRangeError("x"), 2},
      {NotFound("paceline.v1.Job", "namespaces/default/jobs/mnist"), 3},
      {WrongState("namespaces/default/jobs/mnist", "has ended"), 4},
      {EtagMismatch("paceline.v1.Job", "namespaces/default/jobs/mnist"), 4},
      {AlreadyExists("paceline.v1.Job", "namespaces/default/jobs/mnist"), 4},
      {absl::UnauthenticatedError("x"), 5},
      {absl::PermissionDeniedError("x"), 5},
      {absl::DeadlineExceededError("x"), 6},
  };
  for (const auto& [status, code] : kCases) {
    cluster_.jobs.onGetJob = [&, answer = status](const auto&, auto* job) {
      *job = RunningJob();
      return answer;
    };
    const auto outcome = command_.Run("job get mnist");
    EXPECT_EQ(outcome.code, code) << status;
    EXPECT_EQ(outcome.out.empty(), !status.ok());
    if (status.ok()) {
      EXPECT_THAT(outcome.err, IsEmpty());
    } else {
      EXPECT_THAT(outcome.err, StartsWith("paceline: "));
      EXPECT_THAT(outcome.err, HasSubstr(ReasonOf(status)));
    }
  }
}

TEST_F(ExitCodeCommandTest, DetailsCrossTheWire) {
  cluster_.jobs.onCreateJob = [](const auto&, auto*) {
    return InvalidFields({{"job.spec.batch_size", "must be at least 1"},
                          {"job.spec.model", "unknown model \"lenet6\""}});
  };
  command_.input = "spec: {model: lenet6}";
  EXPECT_EQ(command_.Run("job create -f -").err,
            "paceline: refused (INVALID_ARGUMENT: INVALID_FIELD)\n"
            "  job.spec.batch_size: must be at least 1\n"
            "  job.spec.model: unknown model \"lenet6\"\n");
}

TEST_F(ExitCodeCommandTest, Usage) {
  for (const char* line : {"job",
                           "job dance",
                           "job get",
                           "job get mnist -o xml",
                           "job get mnist --wide",
                           "job switch mnist",
                           "job create",
                           "job wait mnist",
                           "job list --limit x",
                           "job list --limit -1",
                           "job get a/b",
                           "worker get servers/s0",
                           "completion fish",
                           "completion",
                           "job get mnist --request-timeout soon",
                           "job update mnist",
                           "top --interval 1ms --once",
                           "audit list --limit -1",
                           "job get mnist --tls-cert x",
                           "checkpoint export x"}) {
    const auto outcome = command_.Run(line);
    EXPECT_EQ(outcome.code, 2) << line << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("paceline: ")) << line;
    EXPECT_THAT(outcome.out, IsEmpty()) << line;
  }
}

TEST_F(ExitCodeCommandTest, WithoutACoordinator) {
  command_.environment.clear();
  const auto nobody = command_.Run("job list");
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("PACELINE_ADDRESS"));
  // Plaintext to another machine.
  const auto open = command_.Run("job list --address 192.0.2.1:7000");
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("--insecure-plaintext"));
  EXPECT_EQ(
      command_.Run("job list --address localhost:1 --token-file /nowhere").code,
      3);
}

TEST_F(ExitCodeCommandTest, AContextThatIsNotThere) {
  for (const char* line :
       {"job list --context lab", "config use-context lab"}) {
    const auto outcome = command_.Run(line);
    EXPECT_EQ(outcome.code, 3) << line;
    EXPECT_THAT(outcome.err, HasSubstr("lab")) << line;
  }
}

TEST_F(ExitCodeCommandTest, AServerThatIsAway) {
  cluster_.Stop();
  const auto outcome = command_.Run("job list --request-timeout 2s");
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, StartsWith(absl::StrCat("paceline: cannot reach ",
                                                   cluster_.address(), ": ")));
  EXPECT_EQ(command_.Run("job watch mnist --request-timeout 2s").code, 6);
}

TEST_F(ExitCodeCommandTest, AServerThatComesBackInTime) {
  cluster_.cluster.onListServers = [](const auto&, auto*) {};
  int calls = 0;
  cluster_.cluster.onListWorkers = [&](const auto&, auto*) {
    return ++calls == 1 ? absl::UnavailableError("not yet") : absl::OkStatus();
  };
  EXPECT_EQ(command_.Run("worker list").code, 0);
  EXPECT_EQ(calls, 2);
}

// A listener that never says a word.
TEST_F(ExitCodeCommandTest, AServerThatIsSilent) {
  const LoopbackSocket listener;
  const auto outcome = command_.Run(absl::StrCat(
      "job list --request-timeout 300ms --address ", listener.address()));
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("did not answer within 300ms"));
}

TEST_F(ExitCodeCommandTest, AnInterruptedCall) {
  absl::Notification over;
  cluster_.jobs.onGetJob = [&](const auto&, auto*) {
    command_.Interrupt(SIGINT);
    over.WaitForNotification();
  };
  const auto outcome = command_.Run("job get mnist");
  over.Notify();
  cluster_.Stop();  // The handler is done with what is ours.
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, IsEmpty());
}

// Often, because a call that is cancelled at once reaches the server seldom.
TEST_F(ExitCodeCommandTest, NothingBeginsAfterAnInterruption) {
  std::atomic<int> calls = 0;
  cluster_.jobs.onPauseJob = [&](const auto&, auto*) { ++calls; };
  for (int i = 0; i < (kSanitized ? 10 : 100); ++i) {
    command_.Interrupt(SIGINT);
    EXPECT_EQ(command_.Run("job pause mnist").code, 130);
  }
  cluster_.Stop();
  EXPECT_EQ(calls.load(), 0);
}

TEST_F(ExitCodeCommandTest, AnInterruptedPause) {
  cluster_.jobs.onGetJob = [&](const auto&, auto*) {
    command_.Interrupt(SIGTERM);
    return absl::UnavailableError("away");
  };
  EXPECT_EQ(command_.Run("job get mnist").code, 143);
}

TEST(ClientTest, PausesGrowToTwoSeconds) {
  EXPECT_EQ(RetryPause(1), absl::Milliseconds(100));
  EXPECT_EQ(RetryPause(2), absl::Milliseconds(150));
  EXPECT_EQ(RetryPause(9), absl::Seconds(2));
  EXPECT_EQ(RetryPause(1'000'000), absl::Seconds(2));
}

TEST(TlsCommandTest, CertificateAndToken) {
  const TestCertificates certificates;
  const TlsFiles server = certificates.Server();
  ServerSecurityOptions options;
  options.tls = server;
  options.tls_client_auth = "optional";
  options.token_file = certificates.TokenFile();
  const absl::StatusOr<ServerSecurity> security = MakeServerSecurity(options);
  ASSERT_TRUE(security.ok()) << security.status();
  FakeCluster cluster(*security);
  cluster.jobs.onGetJob.Gives(RunningJob());
  CommandRunner command;
  const TlsFiles client = certificates.Client(v1::ADMIN);
  const std::string get = absl::StrCat("job get mnist -o name --address ",
                                       cluster.address(), " --tls-ca ");
  const auto certified = command.Run(absl::StrCat(
      get, client.ca, " --tls-cert ", client.cert, " --tls-key ", client.key));
  EXPECT_EQ(certified.code, 0) << certified.err;
  const auto token = command.Run(absl::StrCat(get, client.ca, " --token-file ",
                                              certificates.Token(v1::ADMIN)));
  EXPECT_EQ(token.code, 0) << token.err;
  // A server whose authority is not ours.
  const std::string other = certificates.folder().Write(
      "other-ca.pem", TestAuthority("another CA").pem());
  const auto distrusted = command.Run(absl::StrCat(get, other));
  EXPECT_EQ(distrusted.code, 5) << distrusted.out;
  EXPECT_THAT(distrusted.err, HasSubstr(absl::StrCat("--tls-ca ", other)));
  EXPECT_EQ(command.Run(absl::StrCat(get, "/nowhere")).code, 3);
}

// The first thing that somebody new does: gRPC says "Socket closed" to it.
TEST(TlsCommandTest, WithoutACertificateItSaysSoAtOnce) {
  const TestCertificates certificates;
  ServerSecurityOptions options;
  options.tls = certificates.Server();
  const absl::StatusOr<ServerSecurity> security = MakeServerSecurity(options);
  ASSERT_TRUE(security.ok()) << security.status();
  FakeCluster cluster(*security);
  CommandRunner command;
  // Nobody would wait so long: the first attempt is the last.
  const std::string rest =
      absl::StrCat(" --request-timeout 1h --address ", cluster.address());
  for (const std::string& line :
       {std::string("job list"), std::string("job watch mnist")}) {
    const auto none = command.Run(
        absl::StrCat(line, rest, " --tls-ca ", certificates.OnlyCa().ca));
    EXPECT_EQ(none.code, 5) << none.err;
    EXPECT_THAT(
        none.err,
        AllOf(HasSubstr("wants a client certificate"), HasSubstr("--tls-cert"),
              HasSubstr("PACELINE_TLS_CERT"), HasSubstr("context"),
              HasSubstr("NO_CREDENTIALS"), Not(HasSubstr("trying again"))));
    const auto plain = command.Run(absl::StrCat(line, rest));
    EXPECT_EQ(plain.code, 5) << plain.err;
    EXPECT_THAT(plain.err, HasSubstr("speaks TLS: give --tls-ca"));
  }
  FakeCluster open;
  const auto too_much = command.Run(
      absl::StrCat("job list --request-timeout 1h --address ", open.address(),
                   " --tls-ca ", certificates.OnlyCa().ca));
  EXPECT_EQ(too_much.code, 4) << too_much.err;
  EXPECT_THAT(too_much.err, HasSubstr("speaks no TLS"));
}

}  // namespace
}  // namespace paceline
