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
       {std::string(), std::string("paceline://"),
        std::string("paceline://admin"), std::string("paceline://admin/"),
        std::string("paceline:///alice"), std::string("paceline://root/alice"),
        std::string("paceline://admin/alice/x"),
        std::string("paceline://admin/al ice"),
        std::string("paceline://admin/alice?x"),
        std::string("paceline://admin/-alice"),
        std::string("PACELINE://admin/alice"),
        std::string("xpaceline://admin/alice"),
        std::string("paceline://admin/a\0b", 20),
        "paceline://admin/" + long_name}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseIdentityUri(uri).status())) << uri;
  }
  EXPECT_TRUE(ParseIdentityUri("paceline://admin/" + long_name.substr(1)).ok());
}

}  // namespace
}  // namespace paceline
