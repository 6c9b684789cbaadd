#include "common/http/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/http/plain_client.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kHalf[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
constexpr char kWhole[] = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
// More than the buffers of two sockets hold.
constexpr size_t kLarge = 32 << 20;

class HttpServerTest : public testing::Test {
 protected:
  // "/large" is much, "/later" is answered by Release(); anything else says
  // what was asked for.
  void Listen(HttpServer::Limits limits = {},
              const std::string& address = "127.0.0.1:0") {
    auto server = HttpServer::Listen(
        address,
        [this](const HttpRequest& request, HttpServer::Respond respond) {
          HttpAnswer answer;
          answer.body =
              absl::StrCat(request.path, request.accepts_gzip ? " gzip" : "");
          if (request.post) {
            answer.body = absl::StrCat(request.path, " from ", request.host,
                                       ": ", request.body);
            answer.headers = {{"X-Frame-Options", "DENY"}};
          }
          if (request.path == "/large") answer.body.assign(kLarge, 'x');
          if (request.path != "/later") {
            return std::move(respond)(std::move(answer));
          }
          absl::MutexLock lock(&mu_);
          later_.push_back(std::move(respond));
        },
        limits);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int port() const { return server_->port(); }

  void AwaitLater(size_t count) {
    const auto asked = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return later_.size() == count;
    };
    absl::MutexLock lock(&mu_);
    EXPECT_TRUE(
        mu_.AwaitWithTimeout(absl::Condition(&asked), absl::Seconds(30)));
  }
  void Release() {
    std::vector<HttpServer::Respond> later;
    {
      absl::MutexLock lock(&mu_);
      later.swap(later_);
    }
    for (HttpServer::Respond& respond : later) {
      HttpAnswer answer;
      answer.body = "late";
      std::move(respond)(std::move(answer));
    }
  }

  absl::Mutex mu_;
  std::vector<HttpServer::Respond> later_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<HttpServer> server_;  // Last: its thread uses the above.
};

HttpServer::Limits WithTimes(absl::Duration request, absl::Duration answer) {
  HttpServer::Limits limits;
  limits.request = request;
  limits.answer = answer;
  return limits;
}

TEST_F(HttpServerTest, AnswersGetAndHead) {
  Listen();
  const PlainAnswer get = Get(port(), "/a?b=c");
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(get.body, "/a");
  EXPECT_THAT(get.head,
              AllOf(HasSubstr("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"),
                    HasSubstr("Content-Length: 2\r\n"),
                    HasSubstr("Connection: close\r\n"),
                    Not(HasSubstr("Content-Encoding"))));
  const PlainAnswer head = Exchange(port(), "HEAD /a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_THAT(head.head, HasSubstr("Content-Length: 2\r\n"));
  EXPECT_THAT(Exchange(port(), "GET /a HTTP/1.0\r\n\r\n").head,
              HasSubstr("HTTP/1.0 200 OK\r\n"));
}

TEST_F(HttpServerTest, SaysWhatIsWrongWithOtherRequests) {
  Listen();
  const PlainAnswer post = Exchange(port(), "POST /a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(post.status, 405);
  EXPECT_THAT(post.head, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_EQ(Exchange(port(), "\x16\x03\x01 a TLS hello\r\n\r\n").status, 400);
  // It needs no end for that.
  EXPECT_EQ(Exchange(port(), absl::StrCat("GET / HTTP/1.1\r\nA: ",
                                          std::string(8 << 10, 'a')))
                .status,
            431);
  PlainClient gone(port());
}

std::string Posted(absl::string_view headers, absl::string_view body) {
  return absl::StrCat("POST /a HTTP/1.1\r\n", headers, "\r\n", body);
}

TEST_F(HttpServerTest, ReadsBodiesWhereItIsTold) {
  HttpServer::Limits limits;
  limits.body_bytes = 8;
  Listen(limits);
  const PlainAnswer post = Exchange(
      port(), Posted("Host: here:1\r\nContent-Length: 8\r\n", "12345678"));
  EXPECT_EQ(post.status, 200);
  EXPECT_EQ(post.body, "/a from here:1: 12345678");
  EXPECT_THAT(post.head, HasSubstr("X-Frame-Options: DENY\r\n"));
  EXPECT_EQ(Exchange(port(), Posted("Transfer-Encoding: chunked\r\n",
                                    "3\r\nabc\r\n0\r\n\r\n"))
                .body,
            "/a from : abc");
  // Which of the two would be meant?
  EXPECT_EQ(Exchange(port(), Posted("Host: a\r\nHost: b\r\n", "")).body,
            "/a from : ");
  EXPECT_EQ(Get(port(), "/a").body, "/a");
  EXPECT_THAT(Exchange(port(), "PUT /a HTTP/1.1\r\n\r\n").head,
              HasSubstr("Allow: GET, HEAD, POST\r\n"));
}

TEST_F(HttpServerTest, RefusesLargeBodiesBeforeTheyAreThere) {
  HttpServer::Limits limits;
  limits.body_bytes = 8;
  Listen(limits);
  EXPECT_EQ(Exchange(port(), Posted("Content-Length: 9\r\n", "")).status, 413);
  EXPECT_EQ(Exchange(port(), Posted("Transfer-Encoding: chunked\r\n", "9\r\n"))
                .status,
            413);
}

TEST_F(HttpServerTest, ABodyThatStopsHalfWayIsCutOff) {
  HttpServer::Limits limits =
      WithTimes(absl::Milliseconds(200), absl::Seconds(30));
  limits.body_bytes = 8;
  Listen(limits);
  PlainClient half(port());
  ASSERT_TRUE(half.Send(Posted("Content-Length: 8\r\n", "1234")));
  EXPECT_EQ(half.ReadToEnd(), "");
}

TEST_F(HttpServerTest, TellsWhoTakesGzip) {
  Listen();
  const std::vector<std::pair<std::string, bool>> cases = {
      {"gzip", true},      {"deflate, GZIP;q=0.5", true},     {"br", false},
      {"gzip;q=0", false}, {"identity, gzip;q=0.000", false}, {"", false},
  };
  for (const auto& [accepted, taken] : cases) {
    EXPECT_EQ(Exchange(port(), absl::StrCat("GET /a HTTP/1.1\r\n"
                                            "Accept-Encoding: ",
                                            accepted, "\r\n\r\n"))
                  .body,
              taken ? "/a gzip" : "/a")
        << accepted;
  }
}

TEST_F(HttpServerTest, CutsOffWhoSendsNoWholeRequestInTime) {
  Listen(WithTimes(absl::Milliseconds(200), absl::Hours(1)));
  PlainClient nothing(port());
  PlainClient half(port());
  EXPECT_TRUE(half.Send(kHalf));
  EXPECT_EQ(nothing.ReadToEnd(), "");
  EXPECT_EQ(half.ReadToEnd(), "");
  // A line now and then does not make it longer.
  PlainClient slow(port());
  ASSERT_TRUE(slow.Send(kHalf));
  for (int line = 0; slow.Send("A: b\r\n"); ++line) {
    ASSERT_LT(line, 3'000);
    absl::Notification().WaitForNotificationWithTimeout(absl::Milliseconds(10));
  }
}

TEST_F(HttpServerTest, CutsOffWhoDoesNotReadInTime) {
  Listen(WithTimes(absl::Hours(1), absl::Milliseconds(200)));
  PlainClient client(port());
  ASSERT_TRUE(client.Send(kWhole));
  EXPECT_EQ(Get(port(), "/a").body, "/a");  // By now it is being answered.
  PlainClient later(port());
  ASSERT_TRUE(later.Send("GET /later HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(later.ReadToEnd(), "");  // Nobody answers that one.
  EXPECT_LT(client.ReadToEnd().size(), kLarge);
}

TEST_F(HttpServerTest, OfTooManyTheOldestGoes) {
  HttpServer::Limits limits = WithTimes(absl::Hours(1), absl::Hours(1));
  limits.connections = 3;
  Listen(limits);
  std::vector<PlainClient> three = Silent(3, port(), kHalf);
  EXPECT_EQ(Get(port(), "/a").body, "/a");
  EXPECT_EQ(three[0].ReadToEnd(), "");
  for (int i = 1; i < 3; ++i) {
    EXPECT_TRUE(three[i].Send("\r\n"));
    EXPECT_THAT(three[i].ReadToEnd(), HasSubstr("/healthz"));
  }
}

TEST_F(HttpServerTest, AnswersThatNobodyReadsGiveWay) {
  HttpServer::Limits limits = WithTimes(absl::Hours(1), absl::Hours(1));
  limits.answers = 2;
  Listen(limits);
  std::vector<PlainClient> clients = Silent(3, port(), kWhole);
  EXPECT_EQ(Get(port(), "/a").body, "/a");
  // It took the place of one, and the third of them that of another.
  int whole = 0;
  for (PlainClient& client : clients) {
    whole += client.ReadToEnd().size() > kLarge ? 1 : 0;
  }
  EXPECT_EQ(whole, 1);
}

TEST_F(HttpServerTest, AnswersMayComeLate) {
  Listen();
  PlainClient first(port());
  PlainClient second(port());
  ASSERT_TRUE(first.Send("GET /later HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(second.Send("GET /later HTTP/1.1\r\n\r\n"));
  AwaitLater(2);
  EXPECT_EQ(Get(port(), "/a").body, "/a");
  Release();
  EXPECT_THAT(first.ReadToEnd(), HasSubstr("late"));
  EXPECT_THAT(second.ReadToEnd(), HasSubstr("late"));
}

TEST_F(HttpServerTest, EndsWhateverItsClientsDo) {
  Listen(WithTimes(absl::Hours(1), absl::Hours(1)));
  std::vector<PlainClient> half = Silent(5, port(), kHalf);
  std::vector<PlainClient> deaf = Silent(5, port(), kWhole);
  std::vector<PlainClient> later =
      Silent(1, port(), "GET /later HTTP/1.1\r\n\r\n");
  AwaitLater(1);
  server_.reset();
  EXPECT_EQ(half[0].ReadToEnd(), "");
  EXPECT_EQ(later[0].ReadToEnd(), "");
  Release();  // Nobody gets it.
}

TEST_F(HttpServerTest, ManyAskAtOnce) {
  Listen();
  std::vector<std::thread> threads;
  std::atomic<bool> releases = true;
  std::thread releaser([&] {
    while (releases) Release();
  });
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      for (int n = 0; n < 50; ++n) {
        const bool later = (i + n) % 2 == 0;
        EXPECT_EQ(Get(port(), later ? "/later" : "/a").body,
                  later ? "late" : "/a");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  releases = false;
  releaser.join();
}

TEST_F(HttpServerTest, GoesOnWhenThereAreDescriptorsAgain) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 128, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Listen();
  std::vector<UniqueFd> all;
  {
    PlainClient first(port());
    EXPECT_EQ(Get(port(), "/a").body, "/a");  // By now the first is taken.
    while (true) {
      UniqueFd one(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (one.get() < 0) break;
      all.push_back(std::move(one));
    }
    EXPECT_EQ(errno, EMFILE);
    all.pop_back();  // For the next client; the server has none for it.
    PlainClient second(port());
    ASSERT_TRUE(second.Send("GET /a HTTP/1.1\r\n\r\n"));
    // The first one gives its descriptor up for the second.
    EXPECT_THAT(second.ReadToEnd(), HasSubstr("/a"));
    EXPECT_EQ(first.ReadToEnd(), "");
  }
  all.clear();
  EXPECT_EQ(Get(port(), "/a").body, "/a");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  Listen();
  const auto why = [](const std::string& address) {
    return HttpServer::Listen(address, nullptr, {}).status();
  };
  for (const char* const address : {"127.0.0.1", "127.0.0.1:99999",
                                    "127.0.0.1:", "127.0.0.1:http", "[::1]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(why(address))) << why(address);
  }
  EXPECT_THAT(std::string(why("127.0.0.1").message()), HasSubstr("HOST:PORT"));
  const absl::Status taken = why(absl::StrCat("127.0.0.1:", port()));
  EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()),
              HasSubstr(absl::StrCat("cannot listen on 127.0.0.1:", port(),
                                     ": Address already in use")));
  EXPECT_TRUE(absl::IsUnavailable(why("192.0.2.1:0")));  // Nobody's.
  const absl::Status unknown = why("no.such.host.invalid:0");
  EXPECT_TRUE(absl::IsUnavailable(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("looked up"));
}

TEST_F(HttpServerTest, ListensOnNamesAndOnAllAddresses) {
  std::vector<std::string> addresses = {"localhost:0", "0.0.0.0:0", ":0",
                                        "*:0"};
  const UniqueFd ipv6(socket(AF_INET6, SOCK_STREAM, 0));
  if (ipv6.valid()) addresses.push_back("[::]:0");
  for (const std::string& address : addresses) {
    Listen({}, address);
    EXPECT_EQ(Get(port(), "/a").body, "/a") << address;
  }
}

}  // namespace
}  // namespace paceline
