#include "services/cli/local_options.h"

#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(LocalOptionsTest, DefaultsAreAcceptable) {
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions({});
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_EQ(options->job.runs.size(), 1);
  EXPECT_EQ(options->job.runs[0].label, "bsp");
  EXPECT_EQ(options->workers.size(), 4u);
  EXPECT_EQ(options->job.spec.servers(), 2);
  EXPECT_EQ(options->job.lease, absl::Seconds(10));
  EXPECT_FALSE(options->json);
}

TEST(LocalOptionsTest, PacesAreSpreadOverWorkers) {
  LocalFlags flags;
  flags.workers = 2;
  flags.slowdown = "1,4";
  flags.step_time = "20ms";
  flags.pause = {"every=10s,for=2s"};
  flags.micro_batch_cost = "0.02";
  flags.delay = {"none", "constant:5ms"};
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags);
  ASSERT_TRUE(options.ok()) << options.status();
  const std::vector<WorkerPace>& paces = options->workers;
  ASSERT_EQ(paces.size(), 2u);
  EXPECT_EQ(paces[0].slowdown, "1");
  EXPECT_EQ(paces[1].slowdown, "4");
  EXPECT_EQ(paces[1].step_time, "20ms");
  EXPECT_EQ(paces[0].delay, "");
  EXPECT_EQ(paces[1].delay, "constant:5ms");
  EXPECT_EQ(paces[0].pause, "every=10s,for=2s");
  EXPECT_EQ(paces[1].pause, "every=10s,for=2s");
  EXPECT_EQ(paces[0].micro_batch_cost, "0.02");
  EXPECT_EQ(paces[1].micro_batch_cost, "0.02");
}

// As for `paceline simulate`.
TEST(LocalOptionsTest, APlainNumberIsALeaseInSeconds) {
  LocalFlags flags;
  flags.lease = "2.5";
  EXPECT_EQ(ParseLocalOptions(flags)->job.lease, absl::Milliseconds(2500));
}

TEST(LocalOptionsTest, EachRunMayHaveItsOwnBatching) {
  LocalFlags flags;
  flags.paradigms = {"bsp", "bsp,batching=balanced", "ssp:s=2,batching=even"};
  flags.batching = "even";
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags);
  ASSERT_TRUE(options.ok()) << options.status();
  const std::vector<ComparedRun>& runs = options->job.runs;
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[0].batching, "even");
  EXPECT_EQ(runs[1].batching, "balanced");
  EXPECT_EQ(runs[1].text, "bsp");
  EXPECT_EQ(runs[1].label, "bsp,batching=balanced");
  EXPECT_EQ(runs[2].text, "ssp:s=2");
}

TEST(LocalOptionsTest, ADeviceForAllOrOneForEach) {
  LocalFlags flags;
  flags.workers = 2;
  EXPECT_THAT(ParseLocalOptions(flags)->devices, ElementsAre("auto", "auto"));
  flags.device = {"cpu"};
  EXPECT_THAT(ParseLocalOptions(flags)->devices, ElementsAre("cpu", "cpu"));
  flags.device = {"cuda:0", "cuda:1"};
  EXPECT_THAT(ParseLocalOptions(flags)->devices,
              ElementsAre("cuda:0", "cuda:1"));
  flags.device = {"cuda:0,cuda:1"};
  EXPECT_THAT(ParseLocalOptions(flags)->devices,
              ElementsAre("cuda:0,cuda:1", "cuda:0,cuda:1"));
}

LocalFlags ProgramRun() {
  LocalFlags flags;
  flags.program.command = "python3 train.py";
  flags.typed = {"--program"};
  return flags;
}

TEST(LocalOptionsTest, AProgramDecidesWhatNoFlagSays) {
  LocalFlags flags = ProgramRun();
  flags.program.arguments = {"depth=18", "text=a=b"};
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->program->command, "python3 train.py");
  EXPECT_EQ(options->program->name, "train");
  const v1::JobSpec& spec = options->job.spec;
  EXPECT_EQ(spec.model(), "program:train");
  EXPECT_EQ(spec.data(), "program");
  EXPECT_EQ(spec.arguments().at("depth"), "18");
  EXPECT_EQ(spec.arguments().at("text"), "a=b");
  EXPECT_EQ(spec.optimizer(), "");
  EXPECT_EQ(spec.learning_rate(), 0);
  EXPECT_EQ(spec.batch_size(), 0u);
  EXPECT_EQ(spec.schedule(), "constant");
  EXPECT_EQ(spec.stop().epochs(), 1u) << "as for any job";
  EXPECT_FALSE(options->threads_given);
}

TEST(LocalOptionsTest, FlagsSayWhatAProgramWouldDecide) {
  LocalFlags flags = ProgramRun();
  // The values are the defaults; that they were typed is what counts.
  flags.typed.insert({"--optimizer", "--learning-rate", "--batch-size",
                      "--schedule", "--data", "--threads", "--program-name"});
  flags.data = "stream";
  flags.program.name = "mine";
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags);
  ASSERT_TRUE(options.ok()) << options.status();
  const v1::JobSpec& spec = options->job.spec;
  EXPECT_EQ(spec.model(), "program:mine");
  EXPECT_EQ(spec.data(), "stream");
  EXPECT_EQ(spec.optimizer(), "sgd:momentum=0.9");
  EXPECT_EQ(spec.learning_rate(), 0.005);
  EXPECT_EQ(spec.batch_size(), 32u);
  EXPECT_EQ(spec.schedule(), "step:at=0.6|0.85,factor=0.3");
  EXPECT_TRUE(options->threads_given);
}

TEST(LocalOptionsTest, WithoutEvaluationNobodyEvaluates) {
  LocalFlags flags;
  flags.no_eval = true;
  EXPECT_TRUE(ParseLocalOptions(flags)->job.spec.evaluation().disabled());
}

struct BadInput {
  const char* name;
  std::function<void(LocalFlags&)> spoil;
  const char* message;  // A part of it.
};

void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsOneClearLine) {
  LocalFlags flags;
  GetParam().spoil(flags);
  const absl::Status status = ParseLocalOptions(flags).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const BadInput kBadChoices[] = {
    {"Paradigm",
     [](auto& f) {
       f.paradigms = {"bsp", "gossip"};
     },
     "--paradigm gossip: "},
    {"EmptyParadigm", [](auto& f) { f.paradigms = {""}; }, "--paradigm"},
    {"ParadigmParameter", [](auto& f) { f.paradigms = {"ssp:x=3"}; },
     "--paradigm ssp:x=3: "},
    {"OwnBatching", [](auto& f) { f.paradigms = {"bsp,batching=fair"}; },
     "--paradigm bsp,batching=fair: batching \"fair\": must be one of even"},
    {"LowerAboveUpper", [](auto& f) { f.paradigms = {"dssp:lower=9,upper=3"}; },
     "--paradigm dssp:lower=9,upper=3: "},
    {"Optimizer", [](auto& f) { f.optimizer = "lion"; }, "--optimizer lion: "},
    {"OptimizerParameter", [](auto& f) { f.optimizer = "sgd:momentum=2"; },
     "--optimizer sgd:momentum=2: "},
    {"Schedule", [](auto& f) { f.schedule = "cosine"; }, "--schedule cosine: "},
    {"RoundStrength", [](auto& f) { f.round_strength = "cubic"; },
     "--round-strength \"cubic\": must be one of linear, sqrt, constant, "
     "adascale"},
    {"Wire", [](auto& f) { f.wire = "int4"; },
     "--wire \"int4\": must be one of fp32, bf16, fp16, int8"},
    {"Precision", [](auto& f) { f.precision = "fp16"; },
     "--precision \"fp16\": must be one of fp32, tf32, bf16"},
    {"Output", [](auto& f) { f.output = "yaml"; }, "must be one of"},
    {"RecordOfTwoRuns",
     [](auto& f) {
       f.paradigms = {"bsp", "asp"};
       f.record = "trace.jsonl";
     },
     "--record trace.jsonl: records one run, not 2"},
    {"PlotOverRecord",
     [](auto& f) {
       f.record = "trace.jsonl";
       f.plot = "trace.jsonl";
     },
     "--plot trace.jsonl: would replace the --record"},
    {"RecordRepeated",
     [](auto& f) {
       f.record = "trace.jsonl";
       f.repeat = 3;
     },
     "--record trace.jsonl: records one run, not 3; leave --repeat out"},
    {"RepeatNever", [](auto& f) { f.repeat = 0; },
     "--repeat 0: must be from 1 to 100"},
    {"StopWithoutTarget", [](auto& f) { f.stop_at_target = true; },
     "--stop-at-target needs a --target-accuracy"},
    {"StopAndDefer",
     [](auto& f) {
       f.stop_at_target = f.defer_eval = true;
       f.target_accuracy = {0.9};
     },
     "--stop-at-target contradicts --defer-eval"},
    {"TargetWithoutEvaluation",
     [](auto& f) {
       f.no_eval = true;
       f.target_accuracy = {0.9};
     },
     "--no-eval contradicts a target"},
    {"OtherTargetWithoutEvaluation",
     [](auto& f) {
       f.no_eval = true;
       f.target = "loss<=1";
     },
     "--no-eval contradicts a target"},
};

const BadInput kBadPrograms[] = {
    {"Empty",
     [](auto& f) {
       f.program.command = " ";
       f.typed = {"--program"};
     },
     "--program is empty: give the command that starts it"},
    {"NameAlone", [](auto& f) { f.typed = {"--program-name"}; },
     "--program-name needs a --program"},
    {"ArgumentAlone", [](auto& f) { f.typed = {"--argument"}; },
     "--argument needs a --program"},
    {"Name",
     [](auto& f) {
       f = ProgramRun();
       f.program.name = "my model";
       f.typed.insert("--program-name");
     },
     "--program-name"},
    {"Model",
     [](auto& f) {
       f = ProgramRun();
       f.typed.insert("--model");
     },
     "--model is for built-in models: with --program, the program brings"},
    {"Precision",
     [](auto& f) {
       f = ProgramRun();
       f.typed.insert("--precision");
     },
     "--precision is for built-in models"},
    {"Data",
     [](auto& f) {
       f = ProgramRun();
       f.data = "mnist:/data";
       f.typed.insert("--data");
     },
     "with --program, --data \"mnist:/data\": must be one of program, stream"},
    {"Argument",
     [](auto& f) {
       f = ProgramRun();
       f.program.arguments = {"depth"};
       f.typed.insert("--argument");
     },
     "--argument \"depth\": must be KEY=VALUE"},
};

const BadInput kBadNumbers[] = {
    {"ZeroWorkers", [](auto& f) { f.workers = 0; },
     "--workers 0: must be from 1 to"},
    {"TooManyWorkers", [](auto& f) { f.workers = 100000; }, "--workers 100000"},
    {"ZeroServers", [](auto& f) { f.servers = 0; }, "--servers 0"},
    {"NegativeServers", [](auto& f) { f.servers = -2; }, "--servers -2"},
    {"ZeroEpochs", [](auto& f) { f.epochs = 0; }, "--epochs 0"},
    {"ZeroBatch", [](auto& f) { f.batch_size = 0; }, "--batch-size 0"},
    {"MicroBatch", [](auto& f) { f.micro_batch = 33; },
     "--micro-batch 33: must be from 0 to 32"},
    {"ZeroThreads", [](auto& f) { f.threads = 0; }, "--threads 0"},
    {"Port", [](auto& f) { f.port = 65536; }, "--port 65536"},
    {"EvalEvery", [](auto& f) { f.eval_every = -1; }, "--eval-every -1"},
    {"NegativeSeed", [](auto& f) { f.seed = "-1"; }, "--seed \"-1\": "},
    {"TargetAboveOne", [](auto& f) { f.target_accuracy = {1.01}; },
     "--target-accuracy 1.01: "},
    {"OneOfTwoTargetsZero",
     [](auto& f) {
       f.target_accuracy = {0.9, 0};
     },
     "--target-accuracy 0: must be a share, above 0 and at most 1"},
    {"TargetBelowZero", [](auto& f) { f.target_accuracy = {-0.1}; },
     "--target-accuracy -0.1"},
    {"TargetNan", [](auto& f) { f.target_accuracy = {kNan}; },
     "--target-accuracy"},
    {"Rate", [](auto& f) { f.learning_rate = 0; }, "--learning-rate 0"},
    {"RateNan", [](auto& f) { f.learning_rate = kNan; }, "--learning-rate"},
    {"MaxSeconds", [](auto& f) { f.max_seconds = -1; }, "--max-seconds -1"},
};

const BadInput kBadTimes[] = {
    {"LeaseText", [](auto& f) { f.lease = "soon"; }, "--lease \"soon\": "},
    {"LeaseShort", [](auto& f) { f.lease = "1ms"; },
     "--lease 1ms: must be from 100ms to 1h"},
    {"LeaseInfinite", [](auto& f) { f.lease = "inf"; }, "--lease inf"},
    {"StepTime", [](auto& f) { f.step_time = "fast"; }, "--step-time fast: "},
    {"SlowdownLength", [](auto& f) { f.slowdown = "1,2"; },
     "--slowdown 1,2: lists 2 factors for 4 workers"},
    {"SlowdownText", [](auto& f) { f.slowdown = "x"; },
     "--slowdown x: slowdown \"x\": want a number"},
    {"SlowdownValue", [](auto& f) { f.slowdown = "1,2,x,4"; },
     "--slowdown 1,2,x,4: "},
    {"SlowdownEmptyFactor", [](auto& f) { f.slowdown = "1,,1,4"; },
     "--slowdown 1,,1,4: "},
    {"DelayCount",
     [](auto& f) {
       f.delay = {"none", "none"};
     },
     "--delay was given 2 times: give it once, or once per worker, 4 times"},
    {"DeviceCount",
     [](auto& f) {
       f.device = {"cuda:0", "cuda:1"};
     },
     "--device was given 2 times: give it once, or once per worker, 4 times"},
    {"DeviceName", [](auto& f) { f.device = {"gpu"}; },
     "--device: device \"gpu\": want auto, cpu, cuda or cuda:N"},
    {"DeviceKinds", [](auto& f) { f.device = {"cpu,cuda:0"}; },
     "--device: device \"cpu,cuda:0\": one worker computes on GPUs or on the "
     "CPU, not on both"},
    {"DelayValue", [](auto& f) { f.delay = {"gamma:k=2"}; },
     "--delay gamma:k=2: "},
    {"PauseValue", [](auto& f) { f.pause = {"every=1s,for=2s"}; },
     "--pause every=1s,for=2s: "},
    {"MicroBatchCostValue",
     [](auto& f) {
       f.step_time = "20ms";
       f.micro_batch_cost = "2%";
     },
     "--micro-batch-cost 2%: "},
    {"MicroBatchCostOfNothing", [](auto& f) { f.micro_batch_cost = "0.02"; },
     "is a share of the step time; give one, or 0"},
    {"SlowdownBelowOne", [](auto& f) { f.slowdown = "1,1,1,0.5"; },
     "--slowdown 0.5: "},
};

std::string NameOf(const testing::TestParamInfo<BadInput>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Choices, BadInputTest, testing::ValuesIn(kBadChoices),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Programs, BadInputTest,
                         testing::ValuesIn(kBadPrograms), NameOf);
INSTANTIATE_TEST_SUITE_P(Numbers, BadInputTest, testing::ValuesIn(kBadNumbers),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Times, BadInputTest, testing::ValuesIn(kBadTimes),
                         NameOf);

}  // namespace
}  // namespace paceline
