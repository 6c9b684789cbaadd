// Who may ask the page's server for what.

#include "services/cli/ui/page_access.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr int kPort = 4321;
constexpr char kToken[] = "0123456789abcdef";

// What the page itself sends.
HttpRequest OwnCall() {
  HttpRequest request;
  request.post = true;
  request.path = "/api/ListJobs";
  request.host = "127.0.0.1:4321";
  request.origin = "http://127.0.0.1:4321";
  request.content_type = "application/json";
  request.authorization = absl::StrCat("Bearer ", kToken);
  request.body = "{}";
  return request;
}

absl::StatusCode CodeOf(const HttpRequest& request) {
  return PageAccess(kPort, kToken).CheckCall(request).code();
}

TEST(PageAccessTest, TakesWhatThePageSends) {
  HttpRequest request = OwnCall();
  EXPECT_EQ(CodeOf(request), absl::StatusCode::kOk);
  request.host = "LocalHost:4321";
  request.origin = "http://localhost:4321";
  request.content_type = "Application/JSON ; charset=utf-8";
  EXPECT_EQ(CodeOf(request), absl::StatusCode::kOk);
  request.origin = "";  // Of no browser.
  EXPECT_EQ(CodeOf(request), absl::StatusCode::kOk);
}

TEST(PageAccessTest, RefusesOtherNamesOfThisMachine) {
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:432", "127.0.0.1:43210",
                           "evil.example:4321", "127.0.0.1.evil.example:4321",
                           "[::1]:4321", "127.0.0.2:4321"}) {
    HttpRequest request = OwnCall();
    request.host = host;
    EXPECT_EQ(CodeOf(request), absl::StatusCode::kPermissionDenied) << host;
    EXPECT_FALSE(PageAccess(kPort, kToken).CheckHost(request).ok()) << host;
  }
}

TEST(PageAccessTest, RefusesPagesOfOtherSites) {
  for (const char* origin : {"null", "http://evil.example", "127.0.0.1:4321",
                             "https://127.0.0.1:4321", "http://127.0.0.1:80"}) {
    HttpRequest request = OwnCall();
    request.origin = origin;
    EXPECT_EQ(CodeOf(request), absl::StatusCode::kPermissionDenied) << origin;
  }
}

TEST(PageAccessTest, RefusesWhoeverHasNotTheToken) {
  for (const char* authorization :
       {"", "Bearer ", "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0",
        "Bearer 0123456789abcde", "bearer 0123456789abcdef",
        "0123456789abcdef"}) {
    HttpRequest request = OwnCall();
    request.authorization = authorization;
    EXPECT_EQ(CodeOf(request), absl::StatusCode::kUnauthenticated)
        << authorization;
  }
}

TEST(PageAccessTest, RefusesWhatAFormCouldSend) {
  HttpRequest request = OwnCall();
  request.post = false;
  EXPECT_EQ(CodeOf(request), absl::StatusCode::kInvalidArgument);
  for (const char* type : {"", "text/plain", "application/jsonp",
                           "text/plain; application/json"}) {
    request = OwnCall();
    request.content_type = type;
    EXPECT_EQ(CodeOf(request), absl::StatusCode::kInvalidArgument) << type;
  }
}

TEST(PageAccessTest, EveryStartHasATokenOfItsOwn) {
  const std::string token = NewPageToken();
  EXPECT_EQ(token.size(), 64);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, NewPageToken());
}

}  // namespace
}  // namespace paceline
