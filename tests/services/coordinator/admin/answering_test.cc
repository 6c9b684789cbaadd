// What the audit record says of calls, and which calls are carried out: over a
// real server whose one method the test decides.

#include "services/coordinator/admin/answering.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/rpc/channel.h"
#include "common/status_details.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "services/coordinator/store/job_store.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/test_certificates.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

constexpr char kDrain[] = "/paceline.v1.ClusterService/DrainWorker";

const TestCertificates& Certificates() {
  static const auto& certificates = *new TestCertificates();
  return certificates;
}

// DrainWorker, for administrators, as the test has it.
class Cluster : public v1::ClusterService::CallbackService {
 public:
  explicit Cluster(Answering* answering) : answering_(*answering) {}

  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::Worker* reply) override {
    last_call = context;
    return answering_.Change(context, kDrain, *request, request->name(), reply,
                             [this](const Caller&) {
                               decide();
                               return absl::StatusOr<v1::Worker>(v1::Worker());
                             });
  }

  std::function<void()> decide = [] {};
  std::atomic<grpc::CallbackServerContext*> last_call = nullptr;

 private:
  Answering& answering_;
};

class AnsweringTest : public ::testing::Test {
 protected:
  void Serve(const Answering::Options& options) {
    const auto security =
        MakeServerSecurity({.token_file = Certificates().TokenFile()});
    ASSERT_TRUE(security.ok()) << security.status();
    guard_.emplace(*security, CallLimits{}, &clock_);
    answering_.emplace(&*guard_, &journal_, options);
    cluster_.emplace(&*answering_);
    auto listening = Listen("127.0.0.1:0", ChannelProfile::kControl, *security,
                            {&*cluster_});
    ASSERT_TRUE(listening.ok()) << listening.status();
    listening_ = *std::move(listening);
  }
  void TearDown() override {
    listening_.server->Shutdown(std::chrono::system_clock::now());
    listening_.server->Wait();
  }

  absl::Status Drain(v1::Role role, const std::string& name,
                     grpc::ClientContext& context) {
    const auto security =
        MakeClientSecurity({.token_file = Certificates().Token(role)});
    EXPECT_TRUE(security.ok()) << security.status();
    const auto channel =
        MakeChannel(listening_.address, ChannelProfile::kControl,
                    absl::Seconds(20), *security);
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::DrainWorkerRequest request;
    request.set_name(name);
    v1::Worker reply;
    return FromGrpc(v1::ClusterService::NewStub(channel)->DrainWorker(
        &context, request, &reply));
  }
  absl::Status Drain(v1::Role role, const std::string& name) {
    grpc::ClientContext context;
    return Drain(role, name, context);
  }

  // Newest first.
  std::vector<v1::AuditRecord> Records() {
    EXPECT_TRUE(journal_.Flush(absl::Seconds(30)).ok());
    const auto records = store_->ListAuditRecords(0, 1000);
    EXPECT_TRUE(records.ok()) << records.status();
    return records.value_or(std::vector<v1::AuditRecord>());
  }

  ManualClock clock_;
  std::unique_ptr<JobStore> store_ = JobStore::Open(":memory:").value();
  JobJournal journal_{store_.get()};
  std::optional<CallGuard> guard_;
  std::optional<Answering> answering_;
  std::optional<Cluster> cluster_;
  ListeningServer listening_;
};

TEST_F(AnsweringTest, WhatIsDoneIsRecorded) {
  Serve({});
  EXPECT_TRUE(Drain(v1::ADMIN, "workers/w0").ok());
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].identity(), "admin/token");
  EXPECT_EQ(records[0].role(), v1::ADMIN);
  EXPECT_EQ(records[0].method(), kDrain);
  EXPECT_EQ(records[0].resource(), "workers/w0");
  EXPECT_EQ(records[0].code(), 0);
  EXPECT_EQ(records[0].peer().rfind("ipv4:127.0.0.1:", 0), 0u);
}

// Somebody tries what is not for them: it is known who.
TEST_F(AnsweringTest, WhoMayNotIsRecordedByName) {
  Serve({});
  EXPECT_EQ(ReasonOf(Drain(v1::VIEWER, "workers/w0")), "ROLE_NOT_ALLOWED");
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].identity(), "viewer/token");
  EXPECT_EQ(records[0].role(), v1::VIEWER);
  EXPECT_EQ(records[0].code(),
            static_cast<int>(absl::StatusCode::kPermissionDenied));
}

TEST_F(AnsweringTest, RefusedCallsAreRecordedAtALimitedRate) {
  Serve({});
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(ReasonOf(Drain(v1::VIEWER, "workers/w0")), "ROLE_NOT_ALLOWED");
  }
  EXPECT_EQ(Records().size(), 20u);
  clock_.Advance(absl::Seconds(2));
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Drain(v1::VIEWER, "workers/w0").ok());
  }
  EXPECT_EQ(Records().size(), 22u);
  // What is done is recorded, wherever it comes from.
  EXPECT_TRUE(Drain(v1::ADMIN, "workers/w0").ok());
  EXPECT_EQ(Records().size(), 23u);
}

TEST_F(AnsweringTest, AChangeForWhichThereIsNoRoomIsRecorded) {
  Answering::Options options;
  options.waiting_max = 0;
  Serve(options);
  EXPECT_EQ(ReasonOf(Drain(v1::ADMIN, "workers/w0")), "TOO_MANY_CALLS");
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].identity(), "admin/token");
  EXPECT_EQ(records[0].code(),
            static_cast<int>(absl::StatusCode::kResourceExhausted));
}

TEST_F(AnsweringTest, ACallThatWasGivenUpIsNotCarriedOut) {
  Answering::Options options;
  options.threads = 1;
  Serve(options);
  std::atomic<int> decided = 0;
  absl::Notification entered;
  absl::Notification release;
  cluster_->decide = [&] {
    if (++decided > 1) return;
    entered.Notify();
    release.WaitForNotification();
  };
  std::thread first([&] { EXPECT_TRUE(Drain(v1::ADMIN, "workers/w0").ok()); });
  entered.WaitForNotification();
  cluster_->last_call = nullptr;
  grpc::ClientContext context;
  std::thread second([&] {
    EXPECT_TRUE(absl::IsCancelled(Drain(v1::ADMIN, "workers/w1", context)));
  });
  // It waits for the thread, so its context is there.
  EXPECT_TRUE(Eventually([&] { return cluster_->last_call != nullptr; }));
  context.TryCancel();
  second.join();
  EXPECT_TRUE(
      Eventually([&] { return cluster_->last_call.load()->IsCancelled(); }));
  release.Notify();
  first.join();
  EXPECT_TRUE(Eventually([&] { return Records().size() == 2; }));
  EXPECT_EQ(decided, 1);
  const auto records = Records();
  EXPECT_EQ(records[0].resource(), "workers/w1");
  EXPECT_EQ(records[0].code(), static_cast<int>(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace paceline
