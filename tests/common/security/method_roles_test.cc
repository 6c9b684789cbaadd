#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/security/identity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MethodRolesTest, AreThoseOfTheProtos) {
  MethodRoles roles;
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(roles.Of("/paceline.v1.JobService/GetJob"),
                ElementsAre(v1::ADMIN, v1::VIEWER));
    EXPECT_THAT(roles.Of("/paceline.v1.JobService/CancelJob"),
                ElementsAre(v1::ADMIN));
    EXPECT_THAT(roles.Of("/paceline.v1.Fleet/Worker"), ElementsAre(v1::WORKER));
    EXPECT_THAT(roles.Of("/paceline.v1.Fleet/Server"), ElementsAre(v1::SERVER));
  }
}

TEST(MethodRolesTest, WhatIsNoMethodHasNone) {
  MethodRoles roles;
  for (const char* const method :
       {"", "/", "paceline", "/paceline.v1.JobService/",
        "/paceline.v1.JobService/NoSuch", "/paceline.v1.Job/GetJob",
        "/paceline.v1.Job", "/grpc.health.v1.Health/Check"}) {
    EXPECT_THAT(roles.Of(method), IsEmpty()) << method;
    EXPECT_EQ(roles.ReachOf(method), v1::REACH_UNSPECIFIED) << method;
  }
}

// A method without roles could be called by nobody: somebody forgot them.
TEST(MethodRolesTest, EveryMethodNamesSome) {
  MethodRoles roles;
  int methods = 0;
  for (const auto* const file :
       {v1::Job::descriptor()->file(), v1::Cluster::descriptor()->file(),
        v1::WorkerHello::descriptor()->file(),
        v1::Frame::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const auto* const service = file->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        const std::string method = absl::StrCat("/", service->full_name(), "/",
                                                service->method(m)->name());
        EXPECT_FALSE(roles.Of(method).empty()) << method;
        EXPECT_EQ(roles.ReachOf(method),
                  service->method(m)->options().GetExtension(v1::reach))
            << method;
        ++methods;
      }
    }
  }
  EXPECT_GE(methods, 25);
}

}  // namespace
}  // namespace paceline
