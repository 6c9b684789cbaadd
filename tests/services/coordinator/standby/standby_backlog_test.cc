// What a leader keeps in memory for a standby to which nothing gets through.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "services/coordinator/standby/standby_host.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMebibyte = size_t{1} << 20;

// A stream that takes nothing more.
class BlockedPeer : public StandbyPeer {
 public:
  void Send(v1::LeaderMessage) override {}
  void Close(const absl::Status& status) override {
    absl::MutexLock lock(&mu_);
    closed_ = status;
  }
  size_t waiting() const override {
    ++asked_;
    return 1'000;
  }

  absl::Status closed() const {
    absl::MutexLock lock(&mu_);
    return closed_;
  }
  // The host has looked at everything that there was when this was called: it
  // asks first, and judges then.
  void AwaitLook() const {
    const int before = asked_;
    EXPECT_TRUE(Eventually([&] { return asked_ >= before + 2; }));
  }

 private:
  mutable std::atomic<int> asked_ = 0;
  mutable absl::Mutex mu_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

// Has one file, of zeros that take no room.
class LargeFile : public FeedSource {
 public:
  LargeFile(StandbyFeed* feed, int64_t size) : feed_(feed), size_(size) {
    file_ = std::make_shared<const UniqueFd>(open(
        folder_.Path("large").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    EXPECT_EQ(ftruncate(file_->get(), size), 0);
    feed_->Add(this);
  }
  ~LargeFile() override { feed_->Remove(this); }

  absl::Status AppendAll(uint64_t following) override {
    feed_->AppendFile(following, "", file_, size_);
    return absl::OkStatus();
  }

 private:
  const TestFolder folder_;
  StandbyFeed* const feed_;
  const int64_t size_;
  std::shared_ptr<const UniqueFd> file_;
};

v1::JournalChange Records(size_t bytes) {
  v1::JournalChange change;
  change.set_job_uid("12345678-1234-1234-1234-123456789abc");
  change.set_records(std::string(bytes, 'x'));
  return change;
}

class StandbyBacklogTest : public testing::Test {
 protected:
  // Until what is written follows what there was.
  void BeginFilling() {
    v1::StandbyHello hello;
    hello.set_name("c1");
    ASSERT_TRUE(host_.OnHello(hello, peer_).ok());
    ASSERT_TRUE(Eventually([&] { return feed_.following() != 0; }));
    peer_->AwaitLook();
  }
  void Write(int changes, size_t bytes) {
    for (int i = 0; i < changes; ++i) {
      feed_.Append(feed_.following(), Records(bytes));
    }
  }

  StandbyFeed feed_;
  ManualClock clock_;  // Nobody is given up for his silence.
  const std::shared_ptr<BlockedPeer> peer_ = std::make_shared<BlockedPeer>();
  StandbyHost host_{{.name = "c0",
                     .term = 1,
                     .version = "1",
                     .patience = absl::Seconds(2),
                     .feed = &feed_,
                     .clock = &clock_,
                     .replaced = [](uint64_t) {}}};
};

TEST_F(StandbyBacklogTest, ItIsGivenUpForWhatItWouldTakeOfTheMemory) {
  BeginFilling();
  Write(60, kMebibyte);
  peer_->AwaitLook();
  EXPECT_TRUE(peer_->closed().ok()) << peer_->closed();
  EXPECT_TRUE(host_.Present().has_value());
  Write(5, kMebibyte);
  EXPECT_TRUE(Eventually([&] { return !host_.Present().has_value(); }));
  EXPECT_TRUE(absl::IsUnavailable(peer_->closed())) << peer_->closed();
  EXPECT_THAT(std::string(peer_->closed().message()),
              HasSubstr("does not keep up"));
  // And nothing is kept for it any more.
  EXPECT_TRUE(Eventually([&] { return feed_.following() == 0; }));
  EXPECT_EQ(feed_.log().waiting_bytes(), 0u);
}

// They are on the disk until they are sent.
TEST_F(StandbyBacklogTest, FilesAreNoReason) {
  const LargeFile file(&feed_, static_cast<int64_t>(200 * kMebibyte));
  BeginFilling();
  EXPECT_GE(feed_.log().lag(), 200u);
  EXPECT_LT(feed_.log().waiting_bytes(), kMebibyte);
  Write(10, kMebibyte);
  peer_->AwaitLook();
  EXPECT_TRUE(peer_->closed().ok()) << peer_->closed();
  EXPECT_TRUE(host_.Present().has_value());
}

TEST_F(StandbyBacklogTest, ChangesCountWithAllThatTheyKeep) {
  const FeedEntry records = Records(1'000);
  EXPECT_GE(BytesOf(records), sizeof(FeedEntry) + 1'000 + 36);
  EXPECT_LT(BytesOf(records), sizeof(FeedEntry) + 1'000 + 36 + 500);
  v1::StoreChange of_store;
  for (int i = 0; i < 10; ++i) {
    of_store.add_jobs()->set_name(std::string(1'000, 'n'));
    of_store.add_of_jobs()->set_report(std::string(1'000, 'r'));
  }
  EXPECT_GE(BytesOf(FeedEntry(of_store)), 20'000 + 10 * sizeof(v1::Job));
  EXPECT_GE(BytesOf(FeedEntry(MarkEntry())), sizeof(FeedEntry));
}

// Else a standby that takes long would be taken for one that is silent.
TEST_F(StandbyBacklogTest, FilesAreAcknowledgedOnTheWay) {
  const LargeFile file(&feed_, static_cast<int64_t>(20 * kMebibyte + 1));
  const auto begun = feed_.Begin([] {});
  ASSERT_TRUE(begun.ok()) << begun.status();
  std::string asked;
  while (const auto next = feed_.log().Take(*begun)) {
    asked += next->acknowledge ? 'a' : '.';
  }
  // 21 pieces, and `filled`.
  EXPECT_EQ(asked, ".......a.......a....aa");
}

}  // namespace
}  // namespace paceline
