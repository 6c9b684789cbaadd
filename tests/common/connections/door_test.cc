#include "common/connections/door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/connections/peer_name.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"

namespace paceline {
namespace {

// Ends only what would hang.
constexpr int kLongMs = 30'000;

// In place of gRPC: greets whoever comes with a byte, reads what they send and
// lets go of those that end.
class Transport {
 public:
  explicit Transport(ConnectionAccounts* accounts) : accounts_(*accounts) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Transport() {
    ending_ = true;
    thread_.join();
  }

  void Serve(UniqueFd connection) {
    absl::MutexLock lock(&mu_);
    EXPECT_EQ(send(connection.get(), "h", 1, MSG_NOSIGNAL), 1);
    connections_.push_back(std::move(connection));
  }

  // What is read counts as messages, and who sends them as known.
  std::atomic<bool> take = false;
  std::atomic<uint64_t> read = 0;

 private:
  void Run() {
    std::vector<char> buffer(1 << 16);
    while (!ending_) {
      absl::Notification().WaitForNotificationWithTimeout(
          absl::Milliseconds(1));
      absl::MutexLock lock(&mu_);
      std::erase_if(connections_, [&](UniqueFd& connection) {
        sockaddr_storage peer = {};
        socklen_t size = sizeof(peer);
        getpeername(connection.get(), reinterpret_cast<sockaddr*>(&peer),
                    &size);
        while (true) {
          const ssize_t got =
              recv(connection.get(), buffer.data(), buffer.size(), 0);
          if (got < 0 && errno == EAGAIN) return false;
          if (got <= 0) return true;
          read += static_cast<uint64_t>(got);
          const auto account = accounts_.Find(PeerName(peer));
          if (take && account != nullptr) {
            account->Authorize();
            account->Take(static_cast<size_t>(got));
          }
        }
      });
    }
  }

  ConnectionAccounts& accounts_;
  std::atomic<bool> ending_ = false;
  absl::Mutex mu_;
  std::vector<UniqueFd> connections_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_.get(), reinterpret_cast<sockaddr*>(&address),
                         sizeof(address)) == 0;
  }

  bool connected() const { return connected_; }

  // 'h' once it is served, nothing when it was ended.
  std::optional<char> Next() {
    pollfd waited = {fd_.get(), POLLIN, 0};
    EXPECT_EQ(poll(&waited, 1, kLongMs), 1);
    char byte = 0;
    return recv(fd_.get(), &byte, 1, 0) == 1 ? std::optional(byte)
                                             : std::nullopt;
  }

  // Sends until it has or cannot any more; what went out.
  size_t Send(size_t bytes) {
    const std::string block(1 << 16, 'x');
    size_t sent = 0;
    while (sent < bytes) {
      const ssize_t went =
          send(fd_.get(), block.data(), std::min(block.size(), bytes - sent),
               MSG_NOSIGNAL);
      if (went <= 0) break;
      sent += static_cast<size_t>(went);
    }
    return sent;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
};

class DoorTest : public ::testing::Test {
 protected:
  void Open(const ConnectionBudget::Limits& limits, bool counts = true) {
    auto listener = ListenOnTcp("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    port_ = listener->port;
    Door::Options options;
    options.limits = limits;
    if (counts) options.accounts = &accounts_;
    options.on_counts = [this](const Door::Counts& now) {
      absl::MutexLock lock(&mu_);
      counts_ = now;
    };
    options.on_cut = [this](const std::string&,
                            const ConnectionBudget::Cut& cut) {
      absl::MutexLock lock(&mu_);
      cuts_.push_back(cut);
    };
    door_.emplace(*std::move(listener), std::move(options),
                  [this](UniqueFd connection) {
                    transport_.Serve(std::move(connection));
                  });
  }

  void AwaitCounts(const Door::Counts& wanted) {
    absl::MutexLock lock(&mu_);
    const auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return counts_ == wanted;
    };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&reached),
                                     absl::Milliseconds(kLongMs)))
        << counts_.open << " open, " << counts_.strangers << " strangers";
  }

  std::vector<ConnectionBudget::Cut> Cuts() {
    absl::MutexLock lock(&mu_);
    return cuts_;
  }

  absl::Mutex mu_;
  Door::Counts counts_ ABSL_GUARDED_BY(mu_);
  std::vector<ConnectionBudget::Cut> cuts_ ABSL_GUARDED_BY(mu_);
  ConnectionAccounts accounts_;
  Transport transport_{&accounts_};
  int port_ = 0;
  std::optional<Door> door_;  // Dies first.
};

constexpr size_t kMiB = 1 << 20;

TEST_F(DoorTest, LetsConnectionsInAndForgetsThemWhenTheyEnd) {
  Open({});
  {
    Client first(port_);
    Client second(port_);
    EXPECT_EQ(first.Next(), 'h');
    EXPECT_EQ(second.Next(), 'h');
    AwaitCounts({.open = 2, .strangers = 2});
  }
  AwaitCounts({.open = 0, .strangers = 0});
  EXPECT_TRUE(Cuts().empty());
}

TEST_F(DoorTest, AStrangerThatSendsTooMuchIsCut) {
  Open({.strangers = {.each = 4 * kMiB, .in_all = 8 * kMiB}});
  Client other(port_);
  EXPECT_EQ(other.Next(), 'h');
  Client hostile(port_);
  EXPECT_EQ(hostile.Next(), 'h');
  // Far more than a slow machine can send between two looks.
  EXPECT_LT(hostile.Send(4096 * kMiB), 4096 * kMiB);
  AwaitCounts({.open = 1, .strangers = 1});
  const auto cuts = Cuts();
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].reason, CutReason::kTooMuch);
  EXPECT_TRUE(cuts[0].stranger);
  EXPECT_GT(cuts[0].owed, int64_t{4} * static_cast<int64_t>(kMiB));
  EXPECT_EQ(other.Send(1), 1u);
}

TEST_F(DoorTest, AKnownConnectionMaySendOnAndOn) {
  transport_.take = true;
  Open({.strangers = {.each = kMiB, .in_all = 8 * kMiB},
        .known = {.each = 4 * kMiB, .in_all = 8 * kMiB}});
  Client client(port_);
  EXPECT_EQ(client.Next(), 'h');
  EXPECT_EQ(client.Send(1), 1u);
  AwaitCounts({.open = 1, .strangers = 0});
  EXPECT_EQ(client.Send(256 * kMiB), 256 * kMiB);
  EXPECT_TRUE(Cuts().empty());
}

TEST_F(DoorTest, AKnownConnectionIsCutForWhatIsNotTaken) {
  transport_.take = true;
  Open({.known = {.each = 4 * kMiB, .in_all = 8 * kMiB}});
  Client client(port_);
  EXPECT_EQ(client.Next(), 'h');
  EXPECT_EQ(client.Send(1), 1u);
  AwaitCounts({.open = 1, .strangers = 0});
  transport_.take = false;
  EXPECT_LT(client.Send(4096 * kMiB), 4096 * kMiB);
  AwaitCounts({.open = 0, .strangers = 0});
  ASSERT_EQ(Cuts().size(), 1u);
  EXPECT_FALSE(Cuts()[0].stranger);
}

TEST_F(DoorTest, WhereNothingIsCountedNothingIsCut) {
  Open({.strangers = {.each = 1, .in_all = 1}}, false);
  Client client(port_);
  EXPECT_EQ(client.Next(), 'h');
  EXPECT_EQ(client.Send(64 * kMiB), 64 * kMiB);
}

TEST_F(DoorTest, TheOldestStrangerMakesRoom) {
  Open({.strangers_open = 2});
  Client first(port_);
  EXPECT_EQ(first.Next(), 'h');
  Client second(port_);
  EXPECT_EQ(second.Next(), 'h');
  Client third(port_);
  EXPECT_EQ(third.Next(), 'h');
  EXPECT_EQ(first.Next(), std::nullopt);
  AwaitCounts({.open = 2, .strangers = 2});
  ASSERT_EQ(Cuts().size(), 1u);
  EXPECT_EQ(Cuts()[0].reason, CutReason::kCrowded);
}

TEST_F(DoorTest, WhereAllAreKnownNobodyElseComesIn) {
  transport_.take = true;
  Open({.connections = 1});
  Client known(port_);
  EXPECT_EQ(known.Next(), 'h');
  EXPECT_EQ(known.Send(1), 1u);
  AwaitCounts({.open = 1, .strangers = 0});
  Client stranger(port_);
  EXPECT_EQ(stranger.Next(), std::nullopt);
  EXPECT_EQ(known.Send(1), 1u);
  ASSERT_EQ(Cuts().size(), 1u);
  EXPECT_EQ(Cuts()[0].reason, CutReason::kNoPlace);
}

TEST_F(DoorTest, AfterStoppingThePortIsFreeAndConnectionsStay) {
  Open({});
  Client client(port_);
  EXPECT_EQ(client.Next(), 'h');
  door_->Stop();
  door_->Stop();
  EXPECT_FALSE(Client(port_).connected());
  EXPECT_EQ(client.Send(1), 1u);
  AwaitCounts({.open = 1, .strangers = 1});
}

TEST_F(DoorTest, NoDescriptorIsLeftBehind) {
  const size_t before = OpenDescriptors();
  {
    Open({});
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<Client>(port_));
      EXPECT_EQ(clients.back()->Next(), 'h');
    }
    clients.clear();
    AwaitCounts({.open = 0, .strangers = 0});
    door_.reset();
  }
  EXPECT_EQ(AwaitDescriptors(before), before);
}

// gRPC's own listener ends for good at the first failure of this kind.
TEST_F(DoorTest, ItOutlivesTheWantOfDescriptors) {
  Open({});
  Client first(port_);
  EXPECT_EQ(first.Next(), 'h');
  Client second(port_);
  EXPECT_EQ(second.Next(), 'h');
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  // Room for the next client's own descriptor, and none for its other end.
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit small = usual;
  small.rlim_cur = static_cast<rlim_t>(next.get()) + 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  Client third(port_);
  EXPECT_TRUE(third.connected());
  EXPECT_EQ(third.Next(), 'h');  // In the place of the first.
  EXPECT_EQ(first.Next(), std::nullopt);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_FALSE(Cuts().empty());
  EXPECT_EQ(Cuts()[0].reason, CutReason::kNoDescriptors);
  Client fourth(port_);
  EXPECT_EQ(fourth.Next(), 'h');
}

TEST(FitDescriptorsTest, LeavesSomeForAllElse) {
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit limit = usual;
  limit.rlim_cur = 1'024;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto few = FitDescriptors({});
  EXPECT_EQ(few.connections, 384u);
  EXPECT_EQ(few.strangers_open, 192u);
  EXPECT_EQ(few.strangers_of_one_address, 96u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  RaiseDescriptorLimit();
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

}  // namespace
}  // namespace paceline
