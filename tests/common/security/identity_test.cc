#include "common/security/identity.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

TEST(RoleTest, NamesComeBack) {
  for (const v1::Role role : kRoles) {
    const auto parsed = ParseRole(RoleName(role));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, role);
  }
  for (const char* const text :
       {"", "none", "Admin", "ADMIN", "admin ", "root", "role_unspecified"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseRole(text).status())) << text;
  }
}

TEST(ParseIdentityUriTest, Table) {
  const auto good = ParseIdentityUri("paceline://worker/gpu-3.rack_2");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, (Identity{v1::WORKER, "gpu-3.rack_2"}));
  EXPECT_EQ(ToString(*good), "worker/gpu-3.rack_2");
  const std::string long_name(64, 'x');
  for (const std::string& uri :
       {std::string(),
        std::string("paceline://"),
        std::string("paceline://admin"),
        std::string("paceline://admin/"),
        std::string("paceline:///alice"),
        std::string("paceline://root/alice"),
        std::string("paceline://admin/alice/x"),
        std::string("paceline://admin/al ice"),
        std::string("paceline://admin/alice?x"),
        std::string("paceline://admin@/alice"),
        std::string("paceline://@vision/alice"),
        std::string("paceline://admin@Vision/alice"),
        std::string("paceline://admin@vision,speech/alice"),
        std::string("paceline://admin@vision+vision/alice"),
        std::string("paceline://admin@vision@speech/alice"),
        std::string("paceline://admin@*/alice"),
        std::string("paceline://admin@-/alice"),
        std::string("paceline://worker@vision/alice"),
        std::string("paceline://server@vision/alice"),
        std::string("paceline://coordinator@vision/alice"),
        std::string("paceline://admin/-alice"),
        std::string("PACELINE://admin/alice"),
        std::string("xpaceline://admin/alice"),
        std::string("paceline://admin/a\0b", 20),
        "paceline://admin/" + long_name}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseIdentityUri(uri).status())) << uri;
  }
  EXPECT_TRUE(ParseIdentityUri("paceline://admin/" + long_name.substr(1)).ok());
}

TEST(ParseIdentityUriTest, ARoleMayBeBound) {
  const auto one = ParseIdentityUri("paceline://viewer@vision/grafana");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->role, v1::VIEWER);
  EXPECT_EQ(one->name, "grafana");
  EXPECT_EQ(one->namespaces.Text(), "vision");
  EXPECT_EQ(ToString(*one), "viewer@vision/grafana");
  const auto two = ParseIdentityUri("paceline://admin@vision+speech/alice");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(ToString(*two), "admin@speech+vision/alice");
  // Others are not the same, and nothing is meant by accident.
  EXPECT_NE(*one, *ParseIdentityUri("paceline://viewer/grafana"));
  EXPECT_TRUE(ParseIdentityUri("paceline://viewer/grafana")->namespaces.all());
}

}  // namespace
}  // namespace paceline
