#include "common/rpc/stream_registry.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kNone = absl::ZeroDuration();

// Ends in the call of Close(), as a stream in gRPC may.
class FakeStream : public OpenStream {
 public:
  FakeStream(StreamRegistry* registry, std::atomic<int>* closed)
      : registry_(registry), closed_(closed) {}

  void Close(const absl::Status& status) override {
    EXPECT_EQ(status, absl::UnavailableError("stopping"));
    ++*closed_;
    registry_->Remove(this);
  }

 private:
  StreamRegistry* const registry_;
  std::atomic<int>* const closed_;
};

TEST(StreamRegistryTest, OwnsAStreamUntilItIsRemoved) {
  StreamRegistry registry;
  std::atomic<int> closed = 0;
  auto stream = std::make_shared<FakeStream>(&registry, &closed);
  const std::weak_ptr<FakeStream> alive = stream;
  registry.Add(stream);
  stream.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_FALSE(registry.AwaitEmpty(kNone));
  registry.Remove(alive.lock().get());
  EXPECT_TRUE(alive.expired());
  EXPECT_TRUE(registry.AwaitEmpty(kNone));
  EXPECT_EQ(closed.load(), 0);
}

TEST(StreamRegistryTest, RemovesWhatItDoesNotHave) {
  StreamRegistry registry;
  std::atomic<int> closed = 0;
  const auto stream = std::make_shared<FakeStream>(&registry, &closed);
  registry.Remove(stream.get());
  EXPECT_TRUE(registry.AwaitEmpty(kNone));
}

TEST(StreamRegistryTest, ClosesAllAndThoseThatComeLater) {
  StreamRegistry registry;
  std::atomic<int> closed = 0;
  for (int i = 0; i < 3; ++i) {
    registry.Add(std::make_shared<FakeStream>(&registry, &closed));
  }
  registry.CloseAll(absl::UnavailableError("stopping"));
  EXPECT_EQ(closed.load(), 3);
  EXPECT_TRUE(registry.AwaitEmpty(kNone));
  registry.Add(std::make_shared<FakeStream>(&registry, &closed));
  EXPECT_EQ(closed.load(), 4);
  EXPECT_TRUE(registry.AwaitEmpty(kNone));
}

TEST(StreamRegistryTest, NoStreamSlipsThroughAClosing) {
  for (int round = 0; round < 50; ++round) {
    StreamRegistry registry;
    std::atomic<int> closed = 0;
    std::vector<std::thread> adding;
    for (int i = 0; i < 3; ++i) {
      adding.emplace_back([&] {
        for (int k = 0; k < 20; ++k) {
          registry.Add(std::make_shared<FakeStream>(&registry, &closed));
        }
      });
    }
    registry.CloseAll(absl::UnavailableError("stopping"));
    for (std::thread& thread : adding) thread.join();
    EXPECT_TRUE(registry.AwaitEmpty(kLong));
    // Twice for one that came between the closing and its listing.
    EXPECT_GE(closed.load(), 60);
  }
}

}  // namespace
}  // namespace paceline
