// Flags that no process of ours can mean: it ends at once and says which.

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/process/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_folder.h"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

struct Said {
  std::optional<ExitCause> end;
  std::string text;  // On stdout and stderr.
};

Said Start(const std::string& program, const Words& flags) {
  const TestFolder folder;
  ChildSpec spec;
  spec.name = program;
  spec.argv = {ProgramPath(program)};
  spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
  spec.log_path = folder.Path("log");
  auto process = ChildProcess::Start(spec);
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {};
  }
  Said said;
  Eventually([&] {
    said.end = process->Poll();
    return said.end.has_value();
  });
  std::ifstream log(spec.log_path);
  said.text.assign(std::istreambuf_iterator<char>(log), {});
  return said;
}

struct Case {
  std::string program;
  Words flags;
  std::string says;
};

void ExpectRefused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.program + " " + testing::PrintToString(c.flags));
    const Said said = Start(c.program, c.flags);
    ASSERT_TRUE(said.end.has_value()) << "it runs on";
    EXPECT_FALSE(said.end->clean());
    EXPECT_EQ(said.end->signal, 0) << said.end->Describe();
    EXPECT_THAT(said.text, HasSubstr(c.says));
    // What only programs read, and what a terminal would obey.
    EXPECT_THAT(said.text, Not(HasSubstr("type.googleapis.com")));
    EXPECT_THAT(said.text, Not(HasSubstr("\x1b")));
  }
}

Case Coordinator(const std::string& flag, const std::string& value,
                 const std::string& says) {
  return {"paceline-coordinator", {"--store", ":memory:", flag, value}, says};
}
Case Server(const std::string& flag, const std::string& value,
            const std::string& says) {
  return {"paceline-server",
          {"--coordinator", "127.0.0.1:1", "--name", "s0", flag, value},
          says};
}
Case Worker(const std::string& flag, const std::string& value,
            const std::string& says) {
  return {"paceline-worker",
          {"--coordinator", "127.0.0.1:1", "--name", "w0", flag, value},
          says};
}

TEST(RefusedFlagsTest, AnAddressWithoutAPortThatThereIs) {
  constexpr char kNone[] = "127.0.0.1:99999";
  constexpr char kSays[] = "want one from 0 to 65535";
  ExpectRefused(
      {{"paceline-server", {"--coordinator", kNone, "--name", "s0"}, kSays},
       {"paceline-worker", {"--coordinator", kNone, "--name", "w0"}, kSays},
       {"paceline-worker",
        {"--coordinator", kNone, "--name", "e0", "--evaluator"},
        kSays},
       {"paceline", {"job", "list", "--address", kNone}, kSays},
       Coordinator("--listen", kNone, kSays),
       Server("--listen", kNone, kSays),
       Server("--metrics", kNone, kSays),
       Coordinator("--metrics", "9090",
                   "--metrics: cannot listen on 9090: want HOST:PORT")});
}

TEST(RefusedFlagsTest, ANameThatIsNone) {
  const std::string rule = "; want 1 to 63 letters";
  for (const std::string& name : {std::string(), std::string(200, 'n')}) {
    const Words flags = {"--coordinator", "127.0.0.1:1", "--name", name};
    ExpectRefused({{"paceline-worker", flags, "--name is "},
                   {"paceline-worker", flags, rule},
                   {"paceline-server", flags, "--name is "},
                   {"paceline-server", flags, rule}});
  }
  ExpectRefused({Worker("--pool", "p\x1b[31m", "--pool is "),
                 Worker("--pool", "", "--pool is ")});
}

TEST(RefusedFlagsTest, ASizeBelowZero) {
  ExpectRefused({Worker("--memory", "-1", "-1 is negative"),
                 Server("--max-parameter-bytes", "-1", "-1 is negative"),
                 Server("--max-snapshot-bytes", "-1GiB", "-1GiB is negative"),
                 Coordinator("--max-parameter-bytes", "-1", "-1 is negative"),
                 Coordinator("--max-streams", "-1", "-1 is negative")});
}

// Iterations in flight divide it between them, after it was looked at.
TEST(RefusedFlagsTest, AShareOfTheMemoryThatIsNone) {
  for (const char* const share : {"0", "1.5", "-0.5", "nan", "half"}) {
    ExpectRefused({Worker("--gpu-memory-fraction", share,
                          std::string(share) + " is not above 0")});
  }
}

TEST(RefusedFlagsTest, IterationsInFlightThatCannotBe) {
  const auto with = [](const Words& more, const std::string& says) {
    Words flags = {
        "--coordinator", "127.0.0.1:1", "--name", "w0", "--in-flight", "2"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Case{"paceline-worker", flags, says};
  };
  ExpectRefused(
      {Worker("--in-flight", "5", "--in-flight"),
       Worker("--in-flight", "0", "--in-flight"),
       with({"--evaluator"}, "an evaluator has one evaluation"),
       with({"--program", "line"}, "give --exec"),
       with({"--program", "line", "--exec", "x", "--program-socket", "/y"},
            "leave --program-socket out"),
       with({"--patience", "1s"}, "Connection refused")});
}

}  // namespace
}  // namespace paceline
