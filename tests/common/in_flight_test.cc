#include "common/in_flight.h"

#include <string>

#include "common/plain_name.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(InFlightTest, TheFirstHasTheWorkersName) {
  EXPECT_EQ(NameInFlight("w0", 0), "w0");
  EXPECT_EQ(NameInFlight("w0", 1), "w0.2");
  EXPECT_EQ(NameInFlight("w0", 3), "w0.4");
}

// A pod's name ends with what tells it from the others of its pool.
TEST(InFlightTest, ALongNameLosesItsBeginning) {
  const std::string most(kPlainNameMax - 2, 'n');
  EXPECT_EQ(NameInFlight(most, 1), most + ".2");
  const std::string pod = "a-" + std::string(kPlainNameMax - 7, 'n') + "-x7k2";
  ASSERT_EQ(pod.size(), kPlainNameMax);
  EXPECT_EQ(NameInFlight(pod, 0), pod);
  EXPECT_EQ(NameInFlight(pod, 1), pod.substr(2) + ".2");
  EXPECT_EQ(NameInFlight(pod, 3), pod.substr(2) + ".4");
  EXPECT_TRUE(IsPlainName(NameInFlight("abc-" + pod.substr(4), 1)));
}

}  // namespace
}  // namespace paceline
