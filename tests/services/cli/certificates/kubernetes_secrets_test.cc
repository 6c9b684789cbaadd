#include "services/cli/certificates/kubernetes_secrets.h"

#include <httplib.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr char kFolder[] = "/api/v1/namespaces/lab/secrets";

// The secrets of namespace "lab", as an API server keeps them.
class FakeApiServer {
 public:
  FakeApiServer() {
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return Admit(request, response);
        });
    server_.Get(kFolder, [this](const auto& request, auto& response) {
      List(request, response);
    });
    server_.Get(absl::StrCat(kFolder, "/(.+)"), [this](const auto& request,
                                                       auto& response) {
      absl::MutexLock lock(&mu_);
      const auto found = secrets_.find(request.matches[1]);
      if (found == secrets_.end()) return NotFound(response);
      response.set_content(found->second.dump(), "application/json");
    });
    server_.Post(kFolder, [this](const auto& request, auto& response) {
      Write(json::parse(request.body), response);
    });
    server_.Put(absl::StrCat(kFolder, "/(.+)"),
                [this](const auto& request, auto& response) {
                  Write(json::parse(request.body), response);
                });
    server_.Delete(absl::StrCat(kFolder, "/(.+)"),
                   [this](const auto& request, auto& response) {
                     absl::MutexLock lock(&mu_);
                     if (secrets_.erase(request.matches[1]) == 0) {
                       return NotFound(response);
                     }
                     response.set_content("{}", "application/json");
                   });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeApiServer() { Stop(); }
  void Stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  std::map<std::string, json> secrets() const {
    absl::MutexLock lock(&mu_);
    return secrets_;
  }
  // Every request is answered with that.
  void AnswerAll(int code, const std::string& body) {
    absl::MutexLock lock(&mu_);
    code_ = code;
    body_ = body;
  }
  // Somebody else writes after every reading.
  void Interfere() {
    absl::MutexLock lock(&mu_);
    interfere_ = true;
  }

 private:
  httplib::Server::HandlerResponse Admit(const httplib::Request& request,
                                         httplib::Response& response) {
    absl::MutexLock lock(&mu_);
    if (code_ != 0) {
      response.status = code_;
      response.set_content(body_, "application/json");
      return httplib::Server::HandlerResponse::Handled;
    }
    if (request.get_header_value("Authorization") == "Bearer secret-token") {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    response.status = 401;
    response.set_content(R"({"message":"Unauthorized"})", "application/json");
    return httplib::Server::HandlerResponse::Handled;
  }
  static void NotFound(httplib::Response& response) {
    response.status = 404;
    response.set_content(R"({"message":"secrets \"x\" not found"})",
                         "application/json");
  }
  void List(const httplib::Request& request, httplib::Response& response) {
    absl::MutexLock lock(&mu_);
    json items = json::array();
    for (const auto& [name, secret] : secrets_) {
      std::string labels;
      for (const auto& [key, value] : secret["metadata"]["labels"].items()) {
        absl::StrAppend(&labels, labels.empty() ? "" : ",", key, "=",
                        value.get<std::string>());
      }
      if (labels == request.get_param_value("labelSelector")) {
        items.push_back(secret);
      }
    }
    response.set_content(json{{"items", items}}.dump(), "application/json");
  }
  void Write(json secret, httplib::Response& response) {
    absl::MutexLock lock(&mu_);
    const std::string name = secret["metadata"]["name"];
    const auto before = secrets_.find(name);
    const std::string version =
        before == secrets_.end()
            ? ""
            : before->second["metadata"]["resourceVersion"];
    if (interfere_ ||
        secret["metadata"].value("resourceVersion", "") != version) {
      response.status = 409;
      response.set_content(R"({"message":"the object has been modified"})",
                           "application/json");
      return;
    }
    secret["metadata"]["resourceVersion"] = absl::StrCat(++version_);
    secrets_[name] = secret;
    response.set_content(secret.dump(), "application/json");
  }

  httplib::Server server_;
  int port_ = 0;
  mutable absl::Mutex mu_;
  std::map<std::string, json> secrets_ ABSL_GUARDED_BY(mu_);
  int version_ ABSL_GUARDED_BY(mu_) = 0;
  int code_ ABSL_GUARDED_BY(mu_) = 0;
  std::string body_ ABSL_GUARDED_BY(mu_);
  bool interfere_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

class KubernetesSecretsTest : public testing::Test {
 protected:
  KubernetesSecrets::Options Options(const std::string& release) const {
    return {.api = {.api = api_.url(),
                    .token = "secret-token",
                    .name_space = "lab"},
            .prefix = release,
            .labels = {{"release", release}}};
  }

  FakeApiServer api_;
  KubernetesSecrets secrets_{Options("p")};
};

TEST_F(KubernetesSecretsTest, KeepsAndReplaces) {
  EXPECT_TRUE(absl::IsNotFound(secrets_.Get("w0").status()));
  ASSERT_TRUE(
      secrets_.Put("w0", {{"tls.crt", "one"}, {"tls.key", "\n\x01"}}).ok());
  EXPECT_THAT(secrets_.Get("w0").value_or(CertificateStore::Texts()),
              ElementsAre(Pair("tls.crt", "one"), Pair("tls.key", "\n\x01")));
  const json kept = api_.secrets().at("p-w0");
  EXPECT_EQ(kept["type"], "kubernetes.io/tls");
  EXPECT_EQ(kept["metadata"]["namespace"], "lab");
  EXPECT_EQ(kept["metadata"]["labels"]["release"], "p");
  ASSERT_TRUE(secrets_.Put("w0", {{"tls.crt", "two"}}).ok());
  EXPECT_THAT(secrets_.Get("w0").value_or(CertificateStore::Texts()),
              ElementsAre(Pair("tls.crt", "two")));
  EXPECT_EQ(secrets_.PlaceOf("w0"), "secret p-w0");
}

TEST_F(KubernetesSecretsTest, SomebodyElseChangesIt) {
  ASSERT_TRUE(secrets_.Put("w0", {{"tls.crt", "one"}}).ok());
  api_.Interfere();
  const absl::Status put = secrets_.Put("w0", {{"tls.crt", "two"}});
  EXPECT_TRUE(absl::IsAborted(put)) << put;
  EXPECT_THAT(std::string(put.message()),
              HasSubstr("cannot write secret p-w0: the object has been"));
}

TEST_F(KubernetesSecretsTest, RemovesItsOwn) {
  KubernetesSecrets other(Options("q"));
  ASSERT_TRUE(other.Put("w0", {{"tls.crt", "one"}}).ok());
  ASSERT_TRUE(secrets_.Put("w0", {{"tls.crt", "one"}}).ok());
  ASSERT_TRUE(secrets_.Put("w1", {{"tls.crt", "one"}}).ok());
  EXPECT_EQ(secrets_.RemoveAll().value_or(-1), 2);
  EXPECT_EQ(secrets_.RemoveAll().value_or(-1), 0);
  EXPECT_EQ(api_.secrets().size(), 1u);
  auto unlabelled = Options("p");
  unlabelled.labels.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(
      KubernetesSecrets(unlabelled).RemoveAll().status()));
}

TEST_F(KubernetesSecretsTest, WhatIsNoLabelOrName) {
  KubernetesSecrets::Options good = Options("p");
  good.labels = {{"app.kubernetes.io/instance", "r-1"}, {"a_b", "c.d"}};
  EXPECT_TRUE(KubernetesSecrets::Check(good).ok());
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{
           {"a!", "b"},
           {"a", "b,c=d"},
           {"a", ""},
           {"", "b"},
           {"a/b/c", "d"},
           {"/a", "b"},
           {"a", "-b"},
           {"a in (b)", "c"},
           {"a", "\xff"},
           {"a", std::string(64, 'b')}}) {
    KubernetesSecrets::Options options = Options("p");
    options.labels = {{key, value}};
    EXPECT_TRUE(absl::IsInvalidArgument(KubernetesSecrets::Check(options)))
        << key << "=" << value;
    EXPECT_TRUE(absl::IsInvalidArgument(
        KubernetesSecrets(options).RemoveAll().status()));
  }
  for (const char* const prefix : {"a/b", "-a", "a.", "\xff"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(KubernetesSecrets::Check(Options(prefix))));
  }
}

TEST_F(KubernetesSecretsTest, ErrorsSayWhatAndWhy) {
  struct Case {
    int http;
    std::string body;
    absl::StatusCode code;
    const char* text;
  };
  const Case cases[] = {
      {401, R"({"message":"Unauthorized"})", absl::StatusCode::kUnauthenticated,
       "cannot read secret p-w0: Unauthorized"},
      {403, R"({"message":"may not get secrets"})",
       absl::StatusCode::kPermissionDenied, "may not get secrets"},
      {500, "", absl::StatusCode::kUnavailable, "HTTP 500"},
      {429, "[]", absl::StatusCode::kUnavailable, "HTTP 429"},
      {302, R"({"message":7})", absl::StatusCode::kInternal, "HTTP 302"},
      {200, "rubbish", absl::StatusCode::kInternal, "no JSON object"},
      {200, R"({"data":{"tls.crt":"%"}})", absl::StatusCode::kInternal,
       "tls.crt is not base64"},
      {200, R"({"data":{"tls.crt":1}})", absl::StatusCode::kInternal,
       "tls.crt is not base64"},
  };
  for (const Case& c : cases) {
    api_.AnswerAll(c.http, c.body);
    const auto got = secrets_.Get("w0");
    EXPECT_EQ(got.status().code(), c.code) << c.body << got.status();
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(c.text));
  }
}

TEST_F(KubernetesSecretsTest, NoAnswer) {
  api_.Stop();
  const absl::Status put = secrets_.Put("w0", {{"tls.crt", "one"}});
  EXPECT_TRUE(absl::IsUnavailable(put)) << put;
  EXPECT_THAT(std::string(put.message()), HasSubstr("does not answer"));
}

TEST_F(KubernetesSecretsTest, AWrongToken) {
  auto options = Options("p");
  options.api.token = "guess";
  EXPECT_TRUE(
      absl::IsUnauthenticated(KubernetesSecrets(options).Get("w0").status()));
}

}  // namespace
}  // namespace paceline
