#include <stdlib.h>
#include <sys/stat.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/connection.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

constexpr char kFile[] = R"(current-context: lab
contexts:
  lab:
    address: lab:1
    namespace: of-lab
    request-timeout: 5s
  prod:
    address: prod:1
    tls-ca: ca.pem
    insecure-plaintext: false
)";

struct PrecedenceCase {
  std::map<std::string, std::string> flags;
  std::map<std::string, std::string> environment;
  std::string address;
  std::string space;
  absl::Duration timeout = absl::Seconds(5);
};

// Where a setting comes from: flags > environment > config file > default.
TEST(ConnectionTest, Precedence) {
  const std::vector<PrecedenceCase> kCases = {
      {{}, {}, "lab:1", "of-lab"},
      {{}, {{"PACELINE_ADDRESS", "env:1"}}, "env:1", "of-lab"},
      {{{"address", "flag:1"}},
       {{"PACELINE_ADDRESS", "env:1"}},
       "flag:1",
       "of-lab"},
      {{},
       {{"PACELINE_CONTEXT", "prod"}},
       "prod:1",
       "default",
       absl::Seconds(30)},
      {{{"context", "lab"}}, {{"PACELINE_CONTEXT", "prod"}}, "lab:1", "of-lab"},
      {{{"namespace", "flag"}},
       {{"PACELINE_NAMESPACE", "env"}},
       "lab:1",
       "flag"},
      {{}, {{"PACELINE_NAMESPACE", "env"}}, "lab:1", "env"},
      {{{"request-timeout", "100ms"}},
       {{"PACELINE_REQUEST_TIMEOUT", "7"}},
       "lab:1",
       "of-lab",
       absl::Milliseconds(100)},
      {{},
       {{"PACELINE_REQUEST_TIMEOUT", "7"}},
       "lab:1",
       "of-lab",
       absl::Seconds(7)},
  };
  const absl::StatusOr<ConfigFile> config = ParseConfigFile(kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  for (const PrecedenceCase& c : kCases) {
    ConnectionFlags flags;
    for (const auto& [name, value] : c.flags) {
      if (name == "context") {
        flags.context = value;
      } else {
        flags.settings[name] = value;
      }
    }
    const auto environment = [&](const char* name) {
      const auto found = c.environment.find(name);
      return found == c.environment.end() ? "" : found->second;
    };
    const absl::StatusOr<Connection> connection =
        ResolveConnection(flags, environment, *config);
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ(connection->address, c.address);
    EXPECT_EQ(connection->space, c.space);
    EXPECT_EQ(connection->request_timeout, c.timeout);
    EXPECT_EQ(connection->space_given, c.flags.contains("namespace"));
  }
}

TEST(ConnectionTest, WrongSettings) {
  const std::vector<std::pair<Settings, std::string>> kCases = {
      {{{"request-timeout", "soon"}}, "--request-timeout"},
      {{{"request-timeout", "0"}}, "--request-timeout"},
      {{{"tls-cert", "c.pem"}}, "need each other"},
      {{{"tls-key", "k.pem"}}, "need each other"},
      {{{"namespace", "a/b"}}, "without slashes"},
      {{{"insecure-plaintext", "maybe"}}, "true or false"},
  };
  const auto nothing = [](const char*) { return ""; };
  for (const auto& [settings, message] : kCases) {
    ConfigFile config{.current_context = "c", .contexts = {{"c", settings}}};
    const absl::Status status =
        ResolveConnection(ConnectionFlags(), nothing, config).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  ConnectionFlags flags;
  flags.context = "nowhere";
  const absl::Status status =
      ResolveConnection(flags, nothing, *ParseConfigFile(kFile)).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(),
            "--context nowhere: the config file has no such context; it has "
            "lab, prod");
}

TEST(ConfigFileTest, WrongFilesAreRefusedByLine) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"contexts: [", "line "},
      {"- a", "line 1: expected current-context and contexts"},
      {"curent-context: x", "line 1: \"curent-context\""},
      {"contexts:\n  lab:\n    adress: x", "line 3: \"adress\" is no setting"},
      {"contexts:\n  lab: x", "line 2: a context has settings"},
      {"contexts:\n  lab:\n    address: [x]", "line 3: address is a text"},
      {"current-context: [x]", "line 1"},
      {"contexts:\n  \"\": {}", "line 2: a context's name has 1 to 128 bytes"},
      {"contexts: {? [a] : {}}", "line 1: a context's name"},
      {"contexts: {\"a\\tb\": {}}", "line 1: a context's name"},
      {absl::StrCat("contexts: {", std::string(129, 'x'), ": {}}"),
       "line 1: a context's name"},
      {"contexts: {a: {address: \"x\\0y\"}}",
       "line 1: address has control characters"},
      {"current-context: \"a\\nb\"", "line 1: a context's name"},
      {std::string("contexts:\n  a: {address: 5\0N}", 27),
       "line 2: a zero byte is no text"},
      {"? [a]\n: b", "line 1"},
      {"a: *b", "line 1"},
  };
  for (const auto& [text, message] : kCases) {
    const absl::Status status = ParseConfigFile(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
  EXPECT_TRUE(ParseConfigFile("").ok());
}

TEST(ConfigFileTest, WrittenAndReadAgain) {
  const TestFolder folder;
  const std::string path = folder.Path("below/config.yaml");
  EXPECT_TRUE(ReadConfigFile(path)->contexts.empty());
  ConfigFile config = *ParseConfigFile(kFile);
  config.contexts["odd: name"]["address"] = "yes";
  ASSERT_TRUE(WriteConfigFile(path, config).ok());
  const absl::StatusOr<ConfigFile> read = ReadConfigFileVerbatim(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->current_context, config.current_context);
  EXPECT_EQ(read->contexts, config.contexts);
  // A token's file name is nobody else's business.
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // Files are looked for beside the config file.
  EXPECT_EQ(ReadConfigFile(path)->contexts["prod"]["tls-ca"],
            folder.Path("below/ca.pem"));
}

TEST(ConfigFileTest, AnEmptyPathIsNone) {
  const TestFolder folder;
  const std::string path = folder.Write(
      "config.yaml", "contexts: {lab: {token-file: \"\", tls-ca: ca.pem}}");
  const absl::StatusOr<ConfigFile> read = ReadConfigFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->contexts.at("lab").at("token-file"), "");
  EXPECT_EQ(read->contexts.at("lab").at("tls-ca"), folder.Path("ca.pem"));
}

TEST(ConfigFileTest, Place) {
  std::map<std::string, std::string> environment = {{"HOME", "/home/me"}};
  const auto get = [&](const char* name) { return environment[name]; };
  EXPECT_EQ(ConfigFilePath(get), "/home/me/.config/paceline/config.yaml");
  environment["XDG_CONFIG_HOME"] = "/xdg";
  EXPECT_EQ(ConfigFilePath(get), "/xdg/paceline/config.yaml");
  environment["PACELINE_CONFIG"] = "/own.yaml";
  EXPECT_EQ(ConfigFilePath(get), "/own.yaml");
  environment.clear();
  EXPECT_EQ(ConfigFilePath(get), "");
  EXPECT_FALSE(WriteConfigFile("", ConfigFile()).ok());
}

}  // namespace
}  // namespace paceline
