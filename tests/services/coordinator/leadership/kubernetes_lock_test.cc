#include "services/coordinator/leadership/kubernetes_lock.h"

#include <httplib.h>

#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// What an API server does with one Lease, and with the labels of pods.
class FakeApiServer {
 public:
  FakeApiServer() {
    server_.Get(kLease, [this](const auto&, auto& response) {
      absl::MutexLock lock(&mu_);
      if (lease_.is_null()) {
        response.status = 404;
        return;
      }
      response.set_content(lease_.dump(), "application/json");
    });
    server_.Put(kLease, [this](const auto& request, auto& response) {
      absl::MutexLock lock(&mu_);
      json lease = json::parse(request.body);
      if (lease["metadata"]["resourceVersion"] !=
          lease_["metadata"]["resourceVersion"]) {
        response.status = 409;
        response.set_content(R"({"message":"the object has been modified"})",
                             "application/json");
        return;
      }
      lease["metadata"]["resourceVersion"] = absl::StrCat(++version_);
      lease_ = lease;
      response.set_content(lease.dump(), "application/json");
    });
    server_.Patch("/api/v1/namespaces/lab/pods/(.+)",
                  [this](const auto& request, auto& response) {
                    absl::MutexLock lock(&mu_);
                    const std::string pod = request.matches[1];
                    if (pod == "gone") {
                      response.status = 404;
                      return;
                    }
                    labels_[pod] = json::parse(
                        request.body)["metadata"]["labels"]["leads"];
                    response.set_content("{}", "application/json");
                  });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeApiServer() {
    server_.stop();
    thread_.join();
  }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  json lease() const {
    absl::MutexLock lock(&mu_);
    return lease_;
  }
  void SetLease(json lease) {
    absl::MutexLock lock(&mu_);
    lease_ = std::move(lease);
  }
  // Null: it was taken away.
  std::map<std::string, json> labels() const {
    absl::MutexLock lock(&mu_);
    return labels_;
  }

 private:
  static constexpr char kLease[] =
      "/apis/coordination.k8s.io/v1/namespaces/lab/leases/pace";

  httplib::Server server_;
  int port_ = 0;
  mutable absl::Mutex mu_;
  json lease_ ABSL_GUARDED_BY(mu_);
  int version_ ABSL_GUARDED_BY(mu_) = 7;
  std::map<std::string, json> labels_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

class KubernetesLockTest : public testing::Test {
 protected:
  KubernetesLockTest() {
    api_.SetLease({{"metadata",
                    {{"name", "pace"},
                     {"resourceVersion", "7"},
                     {"labels", {{"app", "paceline"}}}}}});
  }
  KubernetesLock::Options Options() const {
    return {.api = {.api = api_.url(), .token = "t", .name_space = "lab"},
            .lease = "pace",
            .label = "leads"};
  }

  FakeApiServer api_;
  KubernetesLock lock_{Options()};
  const LeaderRecord record_ = {.holder = "c0",
                                .address = "c0.lab:7070",
                                .term = 3,
                                .standby = "c1",
                                .beat = 12};
};

TEST_F(KubernetesLockTest, WhatIsWrittenIsRead) {
  const auto none = lock_.Read();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->record.has_value());
  const auto written = lock_.Write(record_, none->version);
  ASSERT_TRUE(written.ok()) << written.status();
  KubernetesLock other(Options());
  const auto seen = other.Read();
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->record, record_);
  EXPECT_EQ(seen->version, *written);
  EXPECT_FALSE(seen->vacant);
  const json lease = api_.lease();
  EXPECT_EQ(lease["spec"]["holderIdentity"], "c0");
  EXPECT_EQ(lease["spec"]["leaseTransitions"], 3);
  // Whoever made it finds what belongs to it.
  EXPECT_EQ(lease["metadata"]["labels"]["app"], "paceline");
}

TEST_F(KubernetesLockTest, OneOfTwoWritersIsRefused) {
  KubernetesLock other(Options());
  const std::string version = lock_.Read()->version;
  ASSERT_TRUE(other.Read().ok());
  LeaderRecord others = record_;
  others.holder = "c1";
  ASSERT_TRUE(other.Write(others, version).ok());
  EXPECT_TRUE(absl::IsAborted(lock_.Write(record_, version).status()));
  EXPECT_EQ(lock_.Read()->record, others);
}

TEST_F(KubernetesLockTest, ALeaseThatIsNotThereIsAnError) {
  api_.SetLease(nullptr);
  const absl::Status read = lock_.Read().status();
  EXPECT_TRUE(absl::IsNotFound(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("read the lease pace"));
}

TEST_F(KubernetesLockTest, OnlyTheLeadersPodHasTheLabel) {
  ASSERT_TRUE(lock_.Write(record_, lock_.Read()->version).ok());
  KubernetesLock next(Options());
  ASSERT_TRUE(next.Read().ok());
  EXPECT_TRUE(next.Announce("c1").ok());
  EXPECT_THAT(api_.labels(),
              ElementsAre(Pair("c0", json(nullptr)), Pair("c1", "true")));
  EXPECT_TRUE(next.Withdraw("gone").ok());
}

}  // namespace
}  // namespace paceline
