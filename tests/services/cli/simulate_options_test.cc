#include "services/cli/simulate_options.h"

#include <fstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Kind = MembershipChange::Kind;

constexpr Nanos kSecond = 1'000'000'000;

SimulateFlags Typed(const std::string& arguments) {
  SimulateFlags flags;
  CLI::App app;
  AddSimulateFlags(app, flags);
  app.parse(arguments);
  return flags;
}

SimulateOptions Parse(const std::string& arguments) {
  const auto options = ParseSimulateOptions(Typed(arguments));
  EXPECT_TRUE(options.ok()) << arguments << ": " << options.status();
  return options.value_or(SimulateOptions());
}

std::string Refused(const std::string& arguments) {
  const absl::Status status = ParseSimulateOptions(Typed(arguments)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << arguments << ": " << status;
  return std::string(status.message());
}

std::vector<double> TimesOf(const SimulateOptions& options) {
  std::vector<double> times;
  for (const WorkerSpec& worker : options.cluster.workers) {
    times.push_back(ToSeconds(worker.device.iteration));
  }
  return times;
}

TEST(SimulateOptionsTest, DefaultsAreAcceptable) {
  const SimulateOptions options = Parse("");
  ASSERT_THAT(options.runs, SizeIs(1));
  EXPECT_EQ(options.runs[0].label, "bsp");
  EXPECT_THAT(TimesOf(options), ElementsAre(1, 1, 1, 1));
  EXPECT_TRUE(options.cluster.samples_end);
  EXPECT_EQ(options.cluster.train_samples, 1000u * 4 * 32);
  EXPECT_EQ(options.cluster.run.lease, absl::Seconds(10));
  EXPECT_EQ(options.cluster.end, kNever);
  EXPECT_FALSE(options.json);
}

TEST(SimulateOptionsTest, DataAreTheSamplesOfATraining) {
  const SimulateOptions options =
      Parse("--train logreg --data synthetic:tiny --epochs 2 --seed 5");
  ASSERT_NE(options.data, nullptr);
  EXPECT_EQ(options.cluster.train_samples, 1024u);
  EXPECT_EQ(options.cluster.settings.stop.epochs, 2u);
  EXPECT_TRUE(options.cluster.run.evaluate);
  EXPECT_EQ(options.cluster.run.eval_every, 0);  // A twentieth of an epoch.
  EXPECT_EQ(options.cluster.model_bytes, (28 * 28 + 1) * 10 * 4);
  EXPECT_EQ(options.training.model, "logreg");
  EXPECT_EQ(options.training.seed, 5u);
  EXPECT_EQ(options.training.optimizer.momentum, 0.9);
}

TEST(SimulateOptionsTest, DataThatAreNotThereAreNotFound) {
  EXPECT_TRUE(absl::IsNotFound(
      ParseSimulateOptions(Typed("--train mlp --data mnist:/no/such/folder"))
          .status()));
}

TEST(SimulateOptionsTest, TimesAndProfilesMakeTheWorkers) {
  EXPECT_THAT(TimesOf(Parse("--iteration-times 1,1,1,2.5")),
              ElementsAre(1, 1, 1, 2.5));
  EXPECT_THAT(TimesOf(Parse("--iteration-times 20ms,1.9 --workers 3")),
              ElementsAre(0.02, 1.9, 0.02));
  EXPECT_THAT(TimesOf(Parse("--profile ratio:1,4 --iteration-times 0.5")),
              ElementsAre(0.5, 2));
  EXPECT_THAT(TimesOf(Parse("--profile four-speeds --workers 5")),
              ElementsAre(1, 1.3, 1.7, 2.9, 1));
  const SimulateOptions bursts =
      Parse("--profile bursts --iteration-times 2 --workers 2");
  ASSERT_TRUE(bursts.cluster.workers[1].device.jitter.bursts.has_value());
  EXPECT_EQ(bursts.cluster.workers[1].device.jitter.bursts->every,
            40 * kSecond);
  EXPECT_EQ(
      Parse("--profile exponential").cluster.workers[0].device.jitter.kind,
      Jitter::Kind::kExponential);
}

TEST(SimulateOptionsTest, JittersAreForAllOrForEach) {
  const SimulateOptions costly =
      Parse("--profile ratio:1,4 --iteration-times 2s --micro-batch-cost 0.02");
  EXPECT_EQ(costly.cluster.workers[0].device.micro_batch, 40'000'000);
  EXPECT_EQ(costly.cluster.workers[1].device.micro_batch, 160'000'000);
  const SimulateOptions one = Parse("--workers 2 --jitter normal:sd=0.1");
  EXPECT_EQ(one.cluster.workers[1].device.jitter.spread, 0.1);
  const SimulateOptions each =
      Parse("--workers 2 --jitter none --jitter lognormal:sigma=0.2");
  EXPECT_EQ(each.cluster.workers[0].device.jitter.kind, Jitter::Kind::kNone);
  EXPECT_EQ(each.cluster.workers[1].device.jitter.kind,
            Jitter::Kind::kLognormal);
}

TEST(SimulateOptionsTest, TheEndIsSamplesOrTimeOrBoth) {
  const SimulateOptions timed = Parse("--duration 600s --batch-size 10");
  EXPECT_EQ(timed.cluster.end, 600 * kSecond);
  EXPECT_FALSE(timed.cluster.samples_end);
  EXPECT_EQ(timed.cluster.train_samples % 10, 0u);
  const SimulateOptions both = Parse("--duration 10m --iterations 7");
  EXPECT_EQ(both.cluster.end, 600 * kSecond);
  EXPECT_TRUE(both.cluster.samples_end);
  EXPECT_EQ(both.cluster.train_samples, 7u * 4 * 32);
  const SimulateOptions epochs = Parse("--samples 1000 --epochs 3");
  EXPECT_EQ(epochs.cluster.train_samples, 1000u);
  EXPECT_EQ(epochs.cluster.settings.stop.epochs, 3u);
}

TEST(SimulateOptionsTest, TheNetwork) {
  const ClusterSpec cluster =
      Parse(
          "--workers 3 --latency 2ms,1ms --bandwidth 1.25G --servers 8 "
          "--model-bytes 100M")
          .cluster;
  EXPECT_EQ(cluster.workers[0].link.latency, 2'000'000);
  EXPECT_EQ(cluster.workers[1].link.latency, 1'000'000);
  EXPECT_EQ(cluster.workers[2].link.latency, 2'000'000);
  EXPECT_EQ(cluster.workers[2].link.bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.server_latency, 1'000'000);
  EXPECT_EQ(cluster.model_bytes, 100'000'000);
  EXPECT_EQ(cluster.servers, 8);
}

TEST(SimulateOptionsTest, WhatServersTakeTheirTimeFor) {
  const ClusterSpec cluster =
      Parse(
          "--model-bytes 100M --server-bandwidth 1.25G --server-apply-rate 5G "
          "--server-copy-rate 9G --server-update-time 3ms")
          .cluster;
  EXPECT_EQ(cluster.server.link_bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.server.apply_bytes_per_second, 5e9);
  EXPECT_EQ(cluster.server.copy_bytes_per_second, 9e9);
  EXPECT_EQ(cluster.server.update, 3'000'000);
  const ClusterSpec usual = Parse("").cluster;
  EXPECT_EQ(usual.server.link_bytes_per_second, 0);
  EXPECT_EQ(usual.server.apply_bytes_per_second, 0);
  EXPECT_EQ(usual.server.copy_bytes_per_second, 0);
  EXPECT_EQ(usual.server.update, 0);
}

TEST(SimulateOptionsTest, ChangesAreSorted) {
  const auto changes =
      Parse("--crash 3@60s,w1@2m --join 3@90s,2@5 --leave 0@90s")
          .cluster.changes;
  ASSERT_THAT(changes, SizeIs(5));
  const auto expect = [&](size_t i, Kind kind, size_t worker, int64_t seconds) {
    EXPECT_EQ(changes[i].kind, kind) << i;
    EXPECT_EQ(changes[i].worker, worker) << i;
    EXPECT_EQ(changes[i].at, seconds * kSecond) << i;
  };
  expect(0, Kind::kJoin, 2, 5);
  expect(1, Kind::kCrash, 3, 60);
  expect(2, Kind::kLeave, 0, 90);
  expect(3, Kind::kJoin, 3, 90);
  expect(4, Kind::kCrash, 1, 120);
}

TEST(SimulateOptionsTest, SwitchesAreSorted) {
  const auto switches =
      Parse("--switch-at 80%=bsp --switch-at 12.5%=dssp:lower=1,upper=2")
          .cluster.switches;
  ASSERT_THAT(switches, SizeIs(2));
  EXPECT_EQ(switches[0].share, 0.125);
  EXPECT_THAT(FormatParadigm(switches[0].paradigm),
              HasSubstr("dssp:lower=1,upper=2"));
  EXPECT_EQ(switches[1].share, 0.8);
}

TEST(SimulateOptionsTest, ATraceBringsItsWorkers) {
  const TestFolder folder;
  const std::string path = folder.Path("trace.jsonl");
  std::ofstream(path) << R"({"worker":"b","compute":0.02,"samples":32})"
                         "\n"
                      << R"({"worker":"a","compute":0.01,"samples":16})"
                         "\n"
                      << R"({"worker":"a","compute":0.04,"samples":32})"
                         "\n";
  const SimulateOptions options =
      Parse(absl::StrCat("--workers 4 --trace ", path));
  const std::vector<WorkerSpec>& workers = options.cluster.workers;
  EXPECT_EQ(workers[0].name, "a");
  EXPECT_EQ(workers[1].name, "b");
  EXPECT_EQ(workers[2].name, "a.2");
  EXPECT_EQ(workers[2].device.offset, 1u);
  EXPECT_THAT(TimesOf(options), ElementsAre(0.03, 0.02, 0.03, 0.02));
  EXPECT_THAT(Parse(absl::StrCat("--trace ", path)).cluster.workers, SizeIs(2));
}

// What was recorded of the link and the servers is not counted again.
TEST(SimulateOptionsTest, ARecordingTakesNothingOfLinksAndServers) {
  const TestFolder folder;
  const auto trace = [&](const std::string& moments) {
    const std::string path = folder.Path("trace.jsonl");
    std::ofstream(path) << R"({"worker":"a","compute":0.001,"samples":32)"
                        << moments << "}\n";
    return absl::StrCat("--trace ", path, " ");
  };
  constexpr char kSlow[] =
      "--model-bytes 1G --bandwidth 1M --server-bandwidth 1M "
      "--server-copy-rate 1M --server-apply-rate 1M --server-update-time 1h";
  const std::string whole = trace(R"(,"push":0.01,"pull":0.01)");
  Parse(absl::StrCat(whole, kSlow));
  // It makes a thousand pushes a second, however slow those are.
  EXPECT_THAT(
      Refused(absl::StrCat(whole, kSlow, " --lease 1h --duration 2000000s")),
      HasSubstr("more than 1000000000 pushes"));
  for (const char* const part : {"", R"(,"push":0.01)", R"(,"pull":0.01)"}) {
    EXPECT_THAT(Refused(absl::StrCat(trace(part), kSlow)),
                HasSubstr("for an iteration"))
        << part;
  }
}

struct BadInput {
  const char* arguments;
  const char* message;  // A part of it.
};

void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.arguments; }

class BadSimulationTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadSimulationTest, IsOneClearLine) {
  const absl::Status status =
      ParseSimulateOptions(Typed(GetParam().arguments)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

const BadInput kBadDevices[] = {
    {"--workers -1", "--workers -1: must be from 0 to"},
    {"--workers 1000000", "--workers 1000000: must be from 0 to"},
    {"--workers 2 --iteration-times 1,2,3", "lists 3 times for 2 workers"},
    {"--iteration-times 1,,2", "--iteration-times \"\": no duration"},
    {"--iteration-times fast", "--iteration-times \"fast\": no duration"},
    {"--iteration-times 0", "--iteration-times 0: must be from 1us to 1h"},
    {"--iteration-times=-1", "--iteration-times -1: must be from"},
    {"--iteration-times nan", "--iteration-times \"nan\": no duration"},
    {"--iteration-times 1e300", "--iteration-times 1e300: must be from"},
    {"--iteration-times 1,2 --profile four-speeds",
     "--profile multiplies one iteration time"},
    {"--profile bell", "--profile \"bell\": must be one of uniform"},
    {"--profile ratio:1,x", "\"x\" is no factor"},
    {"--profile ratio:", "is no factor"},
    {"--micro-batch-cost 1.5", "--micro-batch-cost 1.5: want a share from 0"},
    {"--jitter gamma", "--jitter: jitter \"gamma\": want none"},
    {"--workers 3 --jitter none --jitter none", "--jitter was given 2 times"},
    {"--profile bursts --jitter none", "--jitter contradicts --profile bursts"},
    {"--trace t --profile bursts", "--trace contradicts"},
    {"--trace t --iteration-times 1", "--trace contradicts"},
    {"--lease 1s --iteration-times 15",
     "--lease 1s: worker w0 takes 15s for an iteration"},
};

const BadInput kBadJobs[] = {
    {"--paradigm gossip", "--paradigm gossip: "},
    {"--duration soon", "--duration \"soon\": no duration"},
    {"--duration 0", "--duration 0: must be from 1ns"},
    {"--duration 20000000h", "--duration 20000000h: must be from"},
    {"--iterations -1", "--iterations -1: must be"},
    {"--iterations 100000000", "--iterations 100000000: with 4 workers"},
    {"--iterations 1 --samples 1", "--iterations contradicts --samples"},
    {"--epochs 2", "--epochs needs --samples or --train"},
    {"--train gpt", "--train gpt on --data synthetic:shapes: "},
    {"--train mlp --data synthetic:nothing", "--data synthetic:nothing: "},
    {"--train mlp --data webdataset:x", "--data webdataset:x: "},
    {"--train mlp --samples 100", "--train contradicts --samples"},
    {"--train mlp --iterations 9", "--train contradicts --samples"},
    {"--train mlp --target-accuracy 1.5", "--target-accuracy 1.5: "},
    {"--train mlp --stop-at-target", "needs a --target-accuracy"},
    {"--train mlp --learning-rate 0", "--learning-rate 0: "},
    {"--train mlp --optimizer lion", "--optimizer lion: "},
    {"--data synthetic:tiny", "--data needs --train"},
    {"--learning-rate 0.1", "--learning-rate needs --train"},
    {"--optimizer adam", "--optimizer needs --train"},
    {"--local-rate 0.1", "--local-rate needs --train"},
    {"--train mlp --local-rate=-1", "--local-rate -1 is not in [0, 1e+06]"},
    {"--train mlp --local-rate nan", "--local-rate nan is not in [0, 1e+06]"},
    {"--schedule constant", "--schedule needs --train"},
    {"--round-strength sqrt", "--round-strength needs --train"},
    {"--eval-every 100", "--eval-every needs --train"},
    {"--learning-rate 1e30", "--learning-rate 1e+30: must be above 0 and"},
    {"--plot t --trace t", "--plot t: would replace the --trace"},
    {"--duration 87600h --iteration-times 1us", "--duration 87600h: more than"},
    {"--target-accuracy 0.9", "--target-accuracy needs --train"},
    {"--samples 1000000000 --batch-size 1 --epochs 9", "more than 1000000000"},
    {"--batch-size 0", "--batch-size 0: must be from 1"},
    {"--micro-batch 33", "--micro-batch 33: must be from 0 to 32"},
    {"--batching fair", "--batching \"fair\": must be one of even, balanced"},
    {"--data-assignment odd",
     "--data-assignment \"odd\": must be one of dynamic, static"},
    {"--data-assignment static --batching balanced",
     "--batching balanced: contradicts --data-assignment static"},
    {"--data-assignment static --paradigm bsp,batching=balanced",
     "--paradigm bsp,batching=balanced: contradicts --data-assignment static"},
    {"--data-assignment static --paradigm asp --paradigm bsp:steal=true",
     "--paradigm bsp:steal=true: contradicts --data-assignment static"},
    {"--data-assignment static --paradigm auto",
     "--paradigm auto: contradicts --data-assignment static"},
    {"--data-assignment static --switch-at 5%=bsp:steal=true",
     "--switch-at bsp:steal=true: contradicts --data-assignment static"},
    {"--switch-at asp", "--switch-at \"asp\": must be SHARE%=PARADIGM"},
    {"--switch-at 101%=asp", "--switch-at \"101%=asp\": must be"},
    {"--switch-at 50%=gossip", "--switch-at 50%=gossip: "},
    {"--output yaml", "--output \"yaml\": must be one of table, json"},
    {"--seed -1", "--seed \"-1\": no whole number"},
};

const BadInput kBadClusters[] = {
    {"--servers 0", "--servers 0: must be from 1"},
    {"--latency 1ms,2ms --workers 1", "list more values than the 1 workers"},
    {"--latency x", "--latency \"x\": no duration"},
    {"--bandwidth 1G", "--bandwidth needs --model-bytes"},
    {"--bandwidth 0 --model-bytes 1", "--bandwidth: must be 1 byte"},
    {"--bandwidth fast --model-bytes 1", "--bandwidth \"fast\": no number"},
    {"--model-bytes -3", "--model-bytes \"-3\": no number of bytes"},
    {"--server-bandwidth 1G", "--server-bandwidth needs --model-bytes"},
    {"--server-apply-rate 0.5 --model-bytes 1",
     "--server-apply-rate: must be 1 byte a second or more"},
    {"--server-update-time=-1s", "--server-update-time -1s: must be from"},
    {"--server-copy-rate fast --model-bytes 1",
     "--server-copy-rate \"fast\": no number"},
    // Four pull 100 MB at once, and push them: 4 * 2 * 100 s.
    {"--server-bandwidth 1M --model-bytes 100M",
     "--lease 10s: worker w0 takes 13m21s for an iteration"},
    {"--server-apply-rate 1M --model-bytes 100M",
     "--lease 10s: worker w0 takes 6m41s for an iteration"},
    {"--server-update-time 30s",
     "--lease 10s: worker w0 takes 2m1s for an iteration"},
    {"--lease 0", "--lease 0: must be from 1ms"},
    {"--crash 3", "--crash \"3\": want WORKER@TIME"},
    {"--crash 4@1s", "--crash 4@1s: there is no such worker"},
    {"--crash w9@1s", "--crash w9@1s: there is no such worker"},
    {"--leave 3@soon", "--leave \"soon\": no duration"},
    {"--crash 3@2s --leave 3@4s", "--leave w3@4s: the worker is not there"},
    {"--join 3@2s,3@4s", "--join w3@4s: the worker is already there"},
    {"--workers 1 --join 0@1s", "--join: nobody is there at the start"},
};

INSTANTIATE_TEST_SUITE_P(Devices, BadSimulationTest,
                         testing::ValuesIn(kBadDevices));
INSTANTIATE_TEST_SUITE_P(Jobs, BadSimulationTest, testing::ValuesIn(kBadJobs));
INSTANTIATE_TEST_SUITE_P(Clusters, BadSimulationTest,
                         testing::ValuesIn(kBadClusters));

TEST(SimulateOptionsTest, AMissingTraceIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(
      ParseSimulateOptions(Typed("--trace /nowhere/trace")).status()));
}

}  // namespace
}  // namespace paceline
