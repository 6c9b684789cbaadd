// WatchJob over real gRPC: the stream, its clients, those who do not read.

#include "services/coordinator/watch/watch_stream.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/mailbox.h"
#include "common/rpc/channel.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "tests/common/security/eventually.h"

namespace paceline {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

v1::Job JobIn(v1::Job::State state) {
  v1::Job job;
  job.set_state(state);
  return job;
}

v1::WatchJobResponse DecisionEvent(int64_t sequence, size_t bytes = 0) {
  v1::WatchJobResponse event;
  event.mutable_decision()->set_sequence(sequence);
  event.mutable_decision()->set_text(std::string(bytes, 'x'));
  return event;
}

// WatchJob of one job and nothing else.
class WatchServer : public v1::JobService::CallbackService {
 public:
  WatchServer() {
    auto listening =
        Listen("127.0.0.1:0", ChannelProfile::kControl, {}, {this});
    CHECK(listening.ok());
    listening_ = *std::move(listening);
  }
  ~WatchServer() override {
    registry_.CloseAll(absl::UnavailableError("the coordinator is stopping"));
    listening_.server->Shutdown(std::chrono::system_clock::now());
    listening_.server->Wait();
    EXPECT_TRUE(registry_.AwaitEmpty(kLong));
    EXPECT_EQ(limiter_.open("me"), 0u);
    EXPECT_EQ(open_.Value(), 0);
  }

  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext*,
      const v1::WatchJobRequest* request) override {
    const auto stream =
        std::make_shared<WatchStream>(limiter_.Open("me"), &pump_, &open_);
    stream->Begin(&registry_);
    stream->Open(events_, *events_->Place(request->resume_token(), {}));
    return stream.get();
  }

  JobEvents& events() { return *events_; }
  StreamRegistry& registry() { return registry_; }
  double open() const { return open_.Value(); }
  const std::string& address() const { return listening_.address; }

 private:
  std::shared_ptr<JobEvents> events_ =
      std::make_shared<JobEvents>(JobIn(v1::Job::PENDING), 0xabc);
  StreamLimiter limiter_{0};
  WatchPump pump_;
  prometheus::Gauge open_;
  StreamRegistry registry_;
  ListeningServer listening_;
};

// A client that reads everything, or nothing.
class Watcher : public grpc::ClientReadReactor<v1::WatchJobResponse> {
 public:
  Watcher(v1::JobService::Stub* stub, const std::string& token, bool reads) {
    request_.set_resume_token(token);
    stub->async()->WatchJob(&context_, &request_, this);
    if (!reads) AddHold();
    holds_ = !reads;
    if (reads) StartRead(&incoming_);
    StartCall();
  }
  ~Watcher() override {
    Cancel();
    done_.WaitForNotification();
  }

  // The next message; CANCELLED after the last.
  absl::StatusOr<v1::WatchJobResponse> Next() { return received_.Take(kLong); }
  absl::Status AwaitEnd() {
    return done_.WaitForNotificationWithTimeout(kLong)
               ? absl::Status(
                     static_cast<absl::StatusCode>(status_.error_code()),
                     status_.error_message())
               : absl::DeadlineExceededError("the watch does not end");
  }
  void Cancel() {
    context_.TryCancel();
    if (std::exchange(holds_, false)) RemoveHold();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return received_.Close(absl::OkStatus());
    received_.Put(incoming_);
    StartRead(&incoming_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

  grpc::ClientContext context_;
  v1::WatchJobRequest request_;
  v1::WatchJobResponse incoming_;
  bool holds_ = false;
  Mailbox<v1::WatchJobResponse> received_;
  grpc::Status status_;
  absl::Notification done_;
};

class WatchStreamTest : public testing::Test {
 protected:
  std::unique_ptr<Watcher> Watch(const std::string& token = "",
                                 bool reads = true) {
    return std::make_unique<Watcher>(stub_.get(), token, reads);
  }

  WatchServer server_;
  std::shared_ptr<grpc::Channel> channel_ =
      MakeChannel(server_.address(), ChannelProfile::kControl, kLong);
  std::unique_ptr<v1::JobService::Stub> stub_ =
      v1::JobService::NewStub(channel_);
};

TEST_F(WatchStreamTest, TheJobThenItsEventsThenTheEnd) {
  const auto watcher = Watch();
  EXPECT_EQ(watcher->Next()->job().state(), v1::Job::PENDING);
  server_.events().JobChanged(JobIn(v1::Job::RUNNING));
  EXPECT_EQ(watcher->Next()->job().state(), v1::Job::RUNNING);
  for (int i = 1; i <= 100; ++i) server_.events().Append(DecisionEvent(i));
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(watcher->Next()->decision().sequence(), i);
  }
  server_.events().JobChanged(JobIn(v1::Job::SUCCEEDED));
  server_.events().Close(absl::OkStatus());
  EXPECT_EQ(watcher->Next()->job().state(), v1::Job::SUCCEEDED);
  EXPECT_TRUE(absl::IsCancelled(watcher->Next().status()));
  EXPECT_EQ(watcher->AwaitEnd(), absl::OkStatus());
}

TEST_F(WatchStreamTest, ResumesWhereItWas) {
  auto watcher = Watch();
  ASSERT_TRUE(watcher->Next().ok());
  server_.events().Append(DecisionEvent(1));
  const std::string token = watcher->Next()->resume_token();
  watcher.reset();
  server_.events().Append(DecisionEvent(2));
  EXPECT_EQ(Watch(token)->Next()->decision().sequence(), 2);
}

TEST_F(WatchStreamTest, TheStatusOfTheEndReachesTheClient) {
  const auto watcher = Watch();
  server_.events().Close(absl::NotFoundError("the job was deleted"));
  EXPECT_EQ(watcher->AwaitEnd(), absl::NotFoundError("the job was deleted"));
}

TEST_F(WatchStreamTest, AClientThatGoesIsForgotten) {
  for (int i = 0; i < 20; ++i) {
    const auto watcher = Watch();
    if (i % 2 == 0) {
      ASSERT_TRUE(watcher->Next().ok());
    }
    watcher->Cancel();
    EXPECT_FALSE(watcher->AwaitEnd().ok());
  }
  EXPECT_TRUE(server_.registry().AwaitEmpty(kLong));
  server_.events().Append(DecisionEvent(1));
}

TEST_F(WatchStreamTest, OpenOnesAreCounted) {
  EXPECT_EQ(server_.open(), 0);
  const auto stays = Watch();
  {
    const auto goes = Watch();
    ASSERT_TRUE(stays->Next().ok());
    ASSERT_TRUE(goes->Next().ok());
    EXPECT_EQ(server_.open(), 2);
  }
  EXPECT_TRUE(Eventually([&] { return server_.open() == 1; }));
}

TEST_F(WatchStreamTest, TheServerEndsThem) {
  const auto watcher = Watch();
  ASSERT_TRUE(watcher->Next().ok());
  server_.registry().CloseAll(absl::UnavailableError("stopping"));
  EXPECT_EQ(watcher->AwaitEnd(), absl::UnavailableError("stopping"));
  EXPECT_EQ(Watch()->AwaitEnd(), absl::UnavailableError("stopping"));
}

// How long it takes to write a story of events, each large enough that a
// connection does not hold all of it.
absl::Duration WriteStory(JobEvents& events) {
  const absl::Time began = absl::Now();
  for (int i = 1; i <= 2000; ++i) events.Append(DecisionEvent(i, 2000));
  return absl::Now() - began;
}

// 200 watchers of whom 50 never read. The others get everything up to the end
// while the 50 still hang; what the writer pays is recorded, not asserted.
TEST_F(WatchStreamTest, ThoseWhoDoNotReadDelayNobody) {
  std::map<bool, absl::Duration> cost;
  for (const bool some_hang : {false, true}) {
    WatchServer server;
    const auto channel =
        MakeChannel(server.address(), ChannelProfile::kControl, kLong);
    const auto stub = v1::JobService::NewStub(channel);
    // Those who hang have a connection of their own, as a client process has.
    const auto other =
        MakeChannel(server.address(), ChannelProfile::kControl, kLong);
    const auto other_stub = v1::JobService::NewStub(other);
    std::vector<std::unique_ptr<Watcher>> hanging;
    std::vector<std::unique_ptr<Watcher>> readers;
    for (int i = 0; i < 200; ++i) {
      const bool hangs = some_hang && i % 4 == 0;
      (hangs ? hanging : readers)
          .push_back(std::make_unique<Watcher>(
              (hangs ? other_stub : stub).get(), "", !hangs));
    }
    for (const auto& reader : readers) ASSERT_TRUE(reader->Next().ok());
    cost[some_hang] = WriteStory(server.events());
    server.events().Append(DecisionEvent(9999));
    for (const auto& reader : readers) {
      // Either every event or, after falling behind, the job as it is.
      int64_t last = 0;
      while (last != 9999) {
        const auto event = reader->Next();
        ASSERT_TRUE(event.ok()) << event.status();
        if (event->has_job()) {
          last = 0;
          if (event->resume_token() ==
              FormatResumeToken({"abc", 2001, {9999, 0}}))
            break;
          continue;
        }
        const int64_t sequence = event->decision().sequence();
        if (last != 0 && sequence != 9999) {
          EXPECT_EQ(sequence, last + 1);
        }
        last = sequence;
      }
    }
    EXPECT_EQ(hanging.size(), some_hang ? 50u : 0u);
  }
  const double ratio = absl::FDivDuration(cost[true], cost[false]);
  RecordProperty("writer_cost_with_50_hanging", absl::StrCat(ratio));
  std::cout << "writing 2000 events for 200 watchers: " << cost[false]
            << "; with 50 of them hanging: " << cost[true] << "\n";
}

}  // namespace
}  // namespace paceline
