// Who may do what is what was agreed upon, and the walk of it notices when it
// is not.

#include "tests/integration/access/access_table.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/access.pb.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "tests/integration/access/access_answer.h"

namespace paceline {
namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FileDescriptorProto;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AccessTableTest, IsWhatTheProtosSay) {
  const std::vector<ApiMethod> methods = AllApiMethods();
  EXPECT_GE(methods.size(), 28);
  EXPECT_THAT(DifferencesOf(AccessTable(), methods), IsEmpty());
}

// The methods of parameters.proto after `change`.
template <class Change>
std::vector<ApiMethod> Changed(const Change& change) {
  FileDescriptorProto proto;
  v1::Frame::descriptor()->file()->CopyTo(&proto);
  change(*proto.mutable_service(0));
  DescriptorPool pool(DescriptorPool::generated_pool());
  proto.set_name("changed.proto");
  proto.set_package("changed");
  // The messages stay those of the proto; only their names are looked up.
  for (auto& method : *proto.mutable_service(0)->mutable_method()) {
    method.set_input_type(".paceline.v1.Frame");
    method.set_output_type(".paceline.v1.Frame");
  }
  proto.clear_message_type();
  proto.add_dependency("protos/paceline/v1/parameters.proto");
  return MethodsOf(*pool.BuildFile(proto));
}

constexpr AccessRow kExchange[] = {{"/changed.Parameters/Exchange", "worker",
                                    ServedBy::kParameterServer,
                                    "INVALID_ARGUMENT"}};

TEST(AccessTableTest, AMethodThatIsOpenedIsNoticed) {
  EXPECT_THAT(DifferencesOf(kExchange, Changed([](auto&) {})), IsEmpty());
  EXPECT_THAT(
      DifferencesOf(
          kExchange, Changed([](auto& service) {
            service.mutable_method(0)->mutable_options()->AddExtension(
                v1::roles, v1::VIEWER);
          })),
      ElementsAre("/changed.Parameters/Exchange: its proto allows viewer "
                  "worker, the table worker"));
}

TEST(AccessTableTest, AMethodThatReachesFurtherIsNoticed) {
  EXPECT_THAT(
      DifferencesOf(
          kExchange, Changed([](auto& service) {
            service.mutable_method(0)->mutable_options()->SetExtension(
                v1::reach, v1::OWN_PART);
          })),
      ElementsAre("/changed.Parameters/Exchange: its proto reaches OWN_PART, "
                  "the table REACH_UNSPECIFIED"));
}

TEST(AccessTableTest, AMethodThatComesOrGoesIsNoticed) {
  const auto other = Changed(
      [](auto& service) { service.mutable_method(0)->set_name("Look"); });
  EXPECT_THAT(
      DifferencesOf(kExchange, other),
      ElementsAre("/changed.Parameters/Look: has no row; its proto allows "
                  "worker",
                  "/changed.Parameters/Exchange: is in no proto"));
}

constexpr AccessRow kCancel = {"/paceline.v1.JobService/CancelJob", "admin",
                               ServedBy::kCoordinator, "INVALID_ARGUMENT"};

AccessCaller Viewer() {
  AccessCaller viewer;
  viewer.role = v1::VIEWER;
  return viewer;
}

absl::Status Refusal() {
  return WithReason(absl::PermissionDeniedError("no"), "ROLE_NOT_ALLOWED",
                    {{"method", kCancel.method}, {"role", "viewer"}});
}

TEST(AccessAnswerTest, OnlyTheRightRefusalIsOne) {
  const std::string expected = ExpectedAnswer(AccessPlace(), Viewer(), kCancel);
  EXPECT_EQ(AnswerText(Refusal(), true), expected);
  // The method was opened: the call gets as far as the request.
  EXPECT_NE(AnswerText(absl::OkStatus(), true), expected);
  EXPECT_NE(AnswerText(absl::InvalidArgumentError("name"), true), expected);
  // Refused, but not as the documentation says.
  EXPECT_NE(AnswerText(absl::PermissionDeniedError("no"), true), expected);
  EXPECT_NE(AnswerText(absl::UnauthenticatedError("no"), true), expected);
  EXPECT_NE(AnswerText(WithReason(Refusal(), "NO_CREDENTIALS"), true),
            expected);
  EXPECT_NE(
      AnswerText(WithReason(Refusal(), "ROLE_NOT_ALLOWED",
                            {{"method", kCancel.method}, {"role", "admin"}}),
                 true),
      expected);
}

TEST(AccessAnswerTest, WhoDoesNotConnectGetsNothing) {
  AccessCaller stranger = Viewer();
  stranger.connects = AccessCaller::Connects::kNever;
  const std::string expected = ExpectedAnswer(AccessPlace(), stranger, kCancel);
  EXPECT_EQ(AnswerText(absl::UnavailableError("handshake"), false), expected);
  EXPECT_NE(AnswerText(absl::UnavailableError("stopping"), true), expected);
  EXPECT_NE(AnswerText(Refusal(), true), expected);
  EXPECT_NE(AnswerText(absl::InvalidArgumentError("name"), true), expected);
}

TEST(AccessAnswerTest, WhoIsBoundIsRefusedForThat) {
  AccessCaller bound = Viewer();
  bound.role = v1::ADMIN;
  bound.bound = true;
  const std::string expected = ExpectedAnswer(AccessPlace(), bound, kCancel);
  EXPECT_EQ(
      AnswerText(
          WithReason(absl::PermissionDeniedError("no"), "NAMESPACE_NOT_ALLOWED",
                     {{"method", kCancel.method}, {"role", "admin"}}),
          true),
      expected);
  EXPECT_NE(AnswerText(absl::InvalidArgumentError("name"), true), expected);
  AccessRow list = kCancel;
  list.reach = v1::OWN_PART;
  EXPECT_EQ(ExpectedAnswer(AccessPlace(), bound, list), "INVALID_ARGUMENT");
}

TEST(AccessAnswerTest, WhatIsNotServedIsNotThere) {
  AccessPlace server;
  server.coordinator = false;
  EXPECT_EQ(ExpectedAnswer(server, Viewer(), kCancel), "UNIMPLEMENTED");
}

}  // namespace
}  // namespace paceline
