#include "common/metrics/serve_monitoring.h"

#include <prometheus/registry.h>
#include <zlib.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/metrics/series.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/http/plain_client.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What gzip has packed; the test fails if it is not whole.
std::string Unpack(const std::string& packed) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  std::string in = packed;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

class ServeMonitoringTest : public testing::Test {
 protected:
  void Serve() {
    auto serving = Monitoring::Serve("127.0.0.1:0", {registry_}, readiness_);
    ASSERT_TRUE(serving.ok()) << serving.status();
    monitoring_ = *std::move(serving);
  }
  int port() const { return monitoring_->port(); }

  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  const std::shared_ptr<Readiness> readiness_ = std::make_shared<Readiness>();
  std::unique_ptr<Monitoring> monitoring_;
};

TEST_F(ServeMonitoringTest, MetricsHealthAndReadiness) {
  prometheus::Gauge& things =
      GaugeSeries(*registry_, "paceline_test_things", "Things.");
  things.Set(3);
  Serve();
  const PlainAnswer metrics = Get(port(), "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain; "
                                      "version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(metrics.body, AllOf(HasSubstr("\npaceline_test_things 3\n"),
                                  HasSubstr("process_cpu_seconds_total")));
  things.Set(4);
  EXPECT_THAT(Get(port(), "/metrics").body,
              HasSubstr("\npaceline_test_things 4\n"));

  const auto answers = [this](const char* path, int status,
                              const std::string& body) {
    const PlainAnswer answer = Get(port(), path);
    EXPECT_EQ(answer.status, status) << path;
    EXPECT_EQ(answer.body, body) << path;
  };
  answers("/healthz", 200, "ok\n");
  answers("/readyz", 503, "it is starting\n");
  readiness_->Set(absl::OkStatus());
  answers("/readyz", 200, "ok\n");
  readiness_->Set(absl::UnavailableError("it is 100% busy: %s"));
  answers("/readyz", 503, "it is 100% busy: %s\n");
  answers("/healthz", 200, "ok\n");
  EXPECT_EQ(Get(port(), "/else").status, 404);

  const absl::Status taken =
      Monitoring::Serve(absl::StrCat("127.0.0.1:", port()), {}, readiness_)
          .status();
  EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()),
              HasSubstr("--metrics: cannot listen on 127.0.0.1:"));
}

TEST_F(ServeMonitoringTest, WhatTheProcessWorksWithIsPartOfIt) {
  Serve();
  readiness_->Set(absl::OkStatus());
  const auto answers = [this](int status, const std::string& body) {
    const PlainAnswer answer = Get(port(), "/readyz");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body, body);
  };
  {
    const ReadinessPart part(readiness_.get(), [] {
      return Readiness::Part{absl::UnavailableError("no folder"), "nor room"};
    });
    answers(503, "no folder\nnor room\n");
    // What the process says of itself comes first.
    readiness_->Set(absl::UnavailableError("it is stopping"));
    answers(503, "it is stopping\n");
    readiness_->Set(absl::OkStatus());
  }
  {
    const ReadinessPart part(readiness_.get(), [] {
      return Readiness::Part{absl::OkStatus(), "little room"};
    });
    answers(200, "ok\nlittle room\n");
  }
  answers(200, "ok\n");
}

TEST_F(ServeMonitoringTest, WhoTakesGzipGetsIt) {
  GaugeSeries(*registry_, "paceline_test_things", "Things.").Set(3);
  Serve();
  const PlainAnswer packed = Exchange(
      port(), "GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_THAT(packed.head,
              AllOf(HasSubstr("Content-Encoding: gzip\r\n"),
                    HasSubstr(absl::StrCat(
                        "Content-Length: ", packed.body.size(), "\r\n"))));
  EXPECT_THAT(Unpack(packed.body), HasSubstr("\npaceline_test_things 3\n"));
}

// A scrape that takes long, because something measured has a lock, is no reason
// to call the process dead.
TEST_F(ServeMonitoringTest, HealthDoesNotWaitForAScrape) {
  class Slow : public prometheus::Collectable {
   public:
    std::vector<prometheus::MetricFamily> Collect() const override {
      begun_.Notify();
      goes_on_.WaitForNotification();
      return {};
    }
    mutable absl::Notification begun_;
    absl::Notification goes_on_;
  };
  const auto slow = std::make_shared<Slow>();
  auto serving = Monitoring::Serve("127.0.0.1:0", {slow}, readiness_);
  ASSERT_TRUE(serving.ok()) << serving.status();
  PlainClient scrape((*serving)->port());
  ASSERT_TRUE(scrape.Send("GET /metrics HTTP/1.1\r\n\r\n"));
  slow->begun_.WaitForNotification();
  EXPECT_EQ(Get((*serving)->port(), "/healthz").status, 200);
  EXPECT_EQ(Get((*serving)->port(), "/readyz").status, 503);
  slow->goes_on_.Notify();
  EXPECT_THAT(scrape.ReadToEnd(), HasSubstr("process_cpu_seconds_total"));
}

// Every Get() has half a minute at most.
TEST_F(ServeMonitoringTest, AnswersWhateverOtherClientsDo) {
  GaugeSeries(*registry_, "paceline_test_things", "Things.").Set(3);
  Serve();
  std::vector<PlainClient> half =
      Silent(300, port(), "GET /metrics HTTP/1.1\r\nHost: x\r\n");
  std::atomic<bool> over = false;
  // 230 that send a line a second, one that is cut off beginning anew.
  std::thread trickle([this, &over] {
    constexpr char kBegin[] = "GET /metrics HTTP/1.1\r\n";
    std::vector<PlainClient> slow = Silent(230, port(), kBegin);
    while (!over) {
      for (PlainClient& client : slow) {
        if (over) return;
        if (client.Send("A: b\r\n")) continue;
        client = PlainClient(port());
        client.Send(kBegin);
      }
      absl::Notification().WaitForNotificationWithTimeout(absl::Seconds(1));
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Get(port(), "/healthz").status, 200);
    EXPECT_EQ(Get(port(), "/readyz").status, 503);
    EXPECT_THAT(Get(port(), "/metrics").body,
                HasSubstr("paceline_test_things 3"));
    absl::Notification().WaitForNotificationWithTimeout(
        absl::Milliseconds(100));
  }
  over = true;
  trickle.join();
}

}  // namespace
}  // namespace paceline
