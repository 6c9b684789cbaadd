#include "services/parameter_server/advertised_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using testing::HasSubstr;

TEST(AdvertisedAddressTest, IsTheOneListenedOnIfWorkersCanDialIt) {
  for (const char* const listening :
       {"127.0.0.1:7071", "10.0.0.7:7071", "s0.example.com:7071",
        "[fd00::7]:7071"}) {
    EXPECT_EQ(*AdvertisedAddress("", listening), listening);
  }
}

// Workers elsewhere would dial themselves, and no message would say why.
TEST(AdvertisedAddressTest, AWildcardNeedsAnother) {
  for (const char* const listening :
       {"0.0.0.0:7071", "[::]:7071", ":7071", "[::ffff:0.0.0.0]:7071"}) {
    const absl::Status status = AdvertisedAddress("", listening).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--advertise"));
    EXPECT_EQ(*AdvertisedAddress("s0.example.com:7071", listening),
              "s0.example.com:7071");
  }
}

TEST(AdvertisedAddressTest, PortZeroIsTheOneListenedOn) {
  EXPECT_EQ(*AdvertisedAddress("s0:0", "0.0.0.0:40123"), "s0:40123");
  EXPECT_EQ(*AdvertisedAddress("[fd00::7]:0", "[::]:40123"), "[fd00::7]:40123");
}

TEST(AdvertisedAddressTest, RefusesWhatNobodyCanDial) {
  for (const char* const advertise :
       {"s0", "s0:", "s0:x", "s0:-1", "s0:65536", "0.0.0.0:7071", "[::]:7071",
        ":7071", "*:7071"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        AdvertisedAddress(advertise, "10.0.0.7:7071").status()))
        << advertise;
  }
}

}  // namespace
}  // namespace paceline
