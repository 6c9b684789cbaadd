#include "common/connections/link_speed.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "common/link_connections.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

// The speed of an interface of which the system says `text`.
int64_t SpeedSaidAs(const std::string& text) {
  const std::string folder = testing::TempDir() + "/paceline-interfaces";
  std::filesystem::create_directories(folder + "/eth7");
  std::ofstream(folder + "/eth7/speed") << text;
  return SpeedOfInterface("eth7", folder);
}

TEST(LinkSpeedTest, IsWhatTheSystemSays) {
  EXPECT_EQ(SpeedSaidAs("25000\n"), 25'000);
  EXPECT_EQ(SpeedSaidAs("-1\n"), 0) << "it is down";
  EXPECT_EQ(SpeedSaidAs(""), 0);
  EXPECT_EQ(SpeedSaidAs("fast\n"), 0);
  EXPECT_EQ(SpeedOfInterface("eth8", testing::TempDir()), 0) << "none";
}

TEST(LinkSpeedTest, OfLoopbackAndOfNowhereNobodyKnows) {
  EXPECT_EQ(LinkSpeedTo("127.0.0.1:7070"), 0);
  EXPECT_EQ(LinkSpeedTo("[::1]:7070"), 0);
  EXPECT_EQ(LinkSpeedTo("nowhere.invalid:7070"), 0);
  EXPECT_EQ(LinkSpeedTo(""), 0);
}

TEST(LinkConnectionsTest, AFasterLinkIsWorthMore) {
  EXPECT_EQ(ConnectionsAt(0), 1u) << "not known";
  EXPECT_EQ(ConnectionsAt(10'000), 1u);
  EXPECT_EQ(ConnectionsAt(25'000), 2u);
  EXPECT_EQ(ConnectionsAt(40'000), 2u);
  EXPECT_EQ(ConnectionsAt(50'000), 4u);
  EXPECT_EQ(ConnectionsAt(100'000), 8u);
  EXPECT_EQ(ConnectionsAt(400'000), 8u);
}

TEST(LinkConnectionsTest, BlocksAreDealtByTheirSizes) {
  using Dealt = std::vector<uint32_t>;
  EXPECT_EQ(DealBlocks({5, 5, 5, 5, 5}, 2), (Dealt{0, 1, 0, 1, 0}));
  EXPECT_EQ(DealBlocks({100, 1, 100, 1, 100, 1}, 2), (Dealt{0, 1, 1, 0, 0, 1}))
      << "weights and their biases";
  EXPECT_EQ(DealBlocks({100, 20, 20, 20, 20, 20}, 2),
            (Dealt{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(DealBlocks({1, 2, 3}, 1), (Dealt{0, 0, 0}));
  EXPECT_EQ(DealBlocks({}, 4), Dealt());
}

TEST(LinkConnectionsTest, BothEndsAndAllWorkersBoundThem) {
  EXPECT_EQ(ConnectionsBetween(8, 4, 1), 4u);
  EXPECT_EQ(ConnectionsBetween(2, 4, 1), 2u);
  EXPECT_EQ(ConnectionsBetween(0, 4, 1), 1u) << "a worker of long ago";
  EXPECT_EQ(ConnectionsBetween(8, 0, 1), 1u) << "a server of long ago";
  EXPECT_EQ(ConnectionsBetween(8, 8, 32), 8u);
  EXPECT_EQ(ConnectionsBetween(8, 8, 100), 2u);
  EXPECT_EQ(ConnectionsBetween(8, 8, 1'000), 1u);
  EXPECT_EQ(ConnectionsBetween(99, 99, 0), kMostConnections);
}

}  // namespace
}  // namespace paceline
