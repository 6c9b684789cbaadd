// A leader and its standby over gRPC, in one process: what one writes down the
// other has, and nothing leaves before.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/rpc/channel.h"
#include "gmock/gmock.h"
#include "services/coordinator/run/journal/journal_files.h"
#include "services/coordinator/run/journal/run_log.h"
#include "services/coordinator/standby/standby_follower.h"
#include "services/coordinator/standby/standby_host.h"
#include "services/coordinator/standby/standby_service.h"
#include "services/coordinator/standby/standby_store.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kLong = absl::Seconds(30);

// The one that leads, in that term.
class Leader {
 public:
  Leader(const TestFolder& folder, uint64_t term,
         const Clock* clock = &Clock::Real())
      : path_(folder.Path("leader.db")),
        store_(OpenStore(path_, {.feed = &feed_})),
        host_({.name = "c0",
               .term = term,
               .version = "1",
               .patience = kLong,
               .feed = &feed_,
               .clock = clock,
               .replaced = [this](uint64_t later) { replaced_ = later; }}) {
    EXPECT_TRUE(std::filesystem::create_directories(folder.Path("journals")));
    log_ = std::make_unique<RunLog>("namespaces/n/jobs/a", "uid-a", &feed_,
                                    /*fsync=*/false);
    log_->Begin(JournalFile(folder.Path("journals"), "uid-a"));
    auto listening =
        Listen("127.0.0.1:0", ChannelProfile::kControl, {}, {&service_});
    EXPECT_TRUE(listening.ok()) << listening.status();
    listening_ = *std::move(listening);
  }
  ~Leader() {
    streams_.CloseAll(absl::UnavailableError("the end"));
    listening_.server->Shutdown(absl::ToChronoTime(absl::Now()));
    listening_.server->Wait();
    EXPECT_TRUE(streams_.AwaitEmpty(kLong));
  }

  JobStore& store() { return *store_; }
  StandbyHost& host() { return host_; }
  StandbyFeed& feed() { return feed_; }
  RunLog& log() { return *log_; }
  const std::string& address() const { return listening_.address; }
  uint64_t replaced() const { return replaced_; }

  bool AwaitComplete() {
    return Eventually([this] {
      const auto present = host_.Present();
      return present.has_value() && present->complete;
    });
  }

 private:
  const std::string path_;
  StandbyFeed feed_;
  const std::unique_ptr<JobStore> store_;
  std::unique_ptr<RunLog> log_;
  std::atomic<uint64_t> replaced_ = 0;
  StandbyHost host_;
  CallGuard guard_{ServerSecurity(), {}, &Clock::Real()};
  StreamRegistry streams_;
  StandbyService service_{&host_, &streams_, &guard_};
  ListeningServer listening_;
};

// One that stands by, with what it has in that folder, or in one of its own.
class Standby {
 public:
  Standby(const std::string& name, const Leader& leader, uint64_t term = 0,
          const TestFolder* folder = nullptr)
      : folder_(folder != nullptr ? *folder : own_folder_),
        store_(path(), JournalFolder(path()), {},
               [this](uint64_t of) {
                 completed_ = of;
                 return absl::OkStatus();
               }),
        follower_({.hello = Hello(name, term),
                   .leader = [address = leader.address()] { return address; },
                   .connect =
                       [](const std::string& address) {
                         return MakeChannel(address, ChannelProfile::kControl,
                                            kLong);
                       },
                   .store = &store_}) {}

  std::string path() const { return folder_.Path("standby.db"); }
  StandbyFollower& follower() { return follower_; }
  uint64_t completed() const { return completed_; }

  // It takes nothing more; what it has then.
  std::vector<std::string> Jobs() {
    follower_.End();
    store_.Begin(0).IgnoreError();  // Lets go of the file.
    std::vector<std::string> names;
    const auto jobs = OpenStore(path())->LoadJobs();
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    for (const v1::Job& job : *jobs) names.push_back(job.name());
    return names;
  }
  std::string Journal() const {
    std::ifstream file(JournalFile(JournalFolder(path()), "uid-a"),
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static v1::StandbyHello Hello(const std::string& name, uint64_t term) {
    v1::StandbyHello hello;
    hello.set_name(name);
    hello.set_address("127.0.0.1:1");
    hello.set_version("1");
    hello.set_term(term);
    return hello;
  }

  const TestFolder own_folder_;
  const TestFolder& folder_;
  std::atomic<uint64_t> completed_ = 0;
  StandbyStore store_;
  StandbyFollower follower_;
};

class StandbyLinkTest : public testing::Test {
 protected:
  void Write(const std::string& id) {
    ASSERT_TRUE(leader_.store().Write({.jobs = {JobNamed(id)}}).ok());
  }

  const TestFolder folder_;
  Leader leader_{folder_, 5};
};

TEST_F(StandbyLinkTest, HasWhatWasThereAndWhatComes) {
  Write("a");
  leader_.log().Write("one,", [] {});
  Standby standby("c1", leader_);
  ASSERT_TRUE(leader_.AwaitComplete());
  EXPECT_EQ(standby.completed(), 5u);
  // The calls wait for it.
  Write("b");
  absl::Notification safe;
  if (leader_.log().Write("two", [&] { safe.Notify(); })) safe.Notify();
  ASSERT_TRUE(safe.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(leader_.host().Present()->entries_behind, 0u);
  EXPECT_THAT(standby.Jobs(),
              ElementsAre("namespaces/n/jobs/a", "namespaces/n/jobs/b"));
  EXPECT_EQ(standby.Journal(), "one,two");
}

TEST_F(StandbyLinkTest, AJournalThatIsRemovedOrBegunIsThereToo) {
  Standby standby("c1", leader_);
  ASSERT_TRUE(leader_.AwaitComplete());
  leader_.log().Write("one", [] {});
  leader_.log().Begin(JournalFile(folder_.Path("journals"), "uid-a"));
  leader_.log().Write("new", [] {});
  leader_.feed().AwaitHeld();
  EXPECT_EQ(standby.Journal(), "new");
  leader_.log().Remove();
  leader_.feed().AwaitHeld();
  EXPECT_FALSE(std::filesystem::exists(
      JournalFile(JournalFolder(standby.path()), "uid-a")));
}

TEST_F(StandbyLinkTest, NothingLeavesUntilItIsKnownThatItDoesNotLead) {
  auto standby = std::make_unique<Standby>("c1", leader_);
  ASSERT_TRUE(leader_.AwaitComplete());
  standby->follower().End();
  ASSERT_TRUE(
      Eventually([&] { return !leader_.host().Present().has_value(); }));
  // A new one is turned away as well: it would be filled with what may not be
  // true any more.
  Standby next("c2", leader_);
  absl::Notification left;
  if (leader_.log().Write("one", [&] { left.Notify(); })) left.Notify();
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(next.follower().Get().trouble, "does not lead");
  }));
  EXPECT_FALSE(left.HasBeenNotified());
  EXPECT_FALSE(leader_.host().Present().has_value());
  leader_.host().GoAlone();
  EXPECT_TRUE(left.WaitForNotificationWithTimeout(kLong));
  EXPECT_TRUE(leader_.AwaitComplete());
}

TEST_F(StandbyLinkTest, OneThatComesAgainGetsEverythingAnew) {
  const TestFolder folder;
  {
    Standby standby("c1", leader_, 0, &folder);
    ASSERT_TRUE(leader_.AwaitComplete());
    standby.follower().End();
    ASSERT_TRUE(
        Eventually([&] { return !leader_.host().Present().has_value(); }));
    // As far as it knows.
    EXPECT_TRUE(standby.follower().Get().complete);
  }
  leader_.host().GoAlone();
  Write("a");
  Standby standby("c1", leader_, 0, &folder);
  ASSERT_TRUE(leader_.AwaitComplete());
  EXPECT_THAT(standby.Jobs(), ElementsAre("namespaces/n/jobs/a"));
  // What it had stays beside it.
  EXPECT_TRUE(
      std::filesystem::exists(absl::StrCat(standby.path(), ".replaced")));
}

TEST_F(StandbyLinkTest, WhoIsAskedNothingIsNotSilent) {
  const TestFolder folder;
  ManualClock clock;
  Leader leader(folder, 5, &clock);
  Standby standby("c1", leader);
  ASSERT_TRUE(leader.AwaitComplete());
  clock.Advance(absl::Hours(1));  // Nothing happens.
  ASSERT_TRUE(leader.store().Write({.jobs = {JobNamed("a")}}).ok());
  EXPECT_TRUE(leader.host().Present().has_value());
  EXPECT_TRUE(standby.follower().Get().connected);
}

TEST_F(StandbyLinkTest, OneStandsByAtATime) {
  Standby standby("c1", leader_);
  ASSERT_TRUE(leader_.AwaitComplete());
  Standby second("c2", leader_);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(second.follower().Get().trouble, "c1 stands by");
  }));
  EXPECT_FALSE(second.follower().Get().complete);
}

TEST_F(StandbyLinkTest, ALeaderIsToldThatItIsReplaced) {
  {
    Standby standby("c1", leader_);
    ASSERT_TRUE(leader_.AwaitComplete());
    standby.follower().End(/*leads=*/6);
  }
  EXPECT_EQ(leader_.replaced(), 6u);
  // By whom it meets later, too.
  leader_.host().GoAlone();
  Standby later("c1", leader_, /*term=*/9);
  EXPECT_TRUE(Eventually([&] { return leader_.replaced() == 9; }));
}

TEST_F(StandbyLinkTest, WhatComesInAnotherOrderIsRefused) {
  const TestFolder folder;
  StandbyStore store(folder.Path("s.db"), folder.Path("journals"), {},
                     [](uint64_t) { return absl::OkStatus(); });
  ASSERT_TRUE(store.Begin(1).ok());
  v1::LeaderMessage message;
  message.mutable_store()->add_deleted_jobs("uid-a");
  EXPECT_TRUE(absl::IsInvalidArgument(store.Take(message)));
  message.set_filled(true);
  EXPECT_TRUE(absl::IsInvalidArgument(store.Take(message)));
  // Not out of its folder.
  message.mutable_journal()->set_job_uid("../escaped");
  message.mutable_journal()->set_begun(true);
  EXPECT_TRUE(absl::IsInvalidArgument(store.Take(message)));
  message.mutable_file()->set_job_uid("../escaped");
  EXPECT_TRUE(absl::IsInvalidArgument(store.Take(message)));
  // No database.
  message.mutable_file()->clear_job_uid();
  message.mutable_file()->set_first(true);
  message.mutable_file()->set_last(true);
  message.mutable_file()->set_piece(std::string(5'000, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(store.Take(message)));
  EXPECT_FALSE(store.complete());
}

}  // namespace
}  // namespace paceline
