#include "common/job/job_plan.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/job/job_defaults.h"
#include "common/job/names.h"
#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

v1::JobSpec SmallSpec() {
  v1::JobSpec spec;
  spec.set_model("mlp");
  spec.set_data("synthetic:tiny");
  return spec;
}

struct BadSpec {
  std::string field;
  std::string says;
  std::function<void(v1::JobSpec&)> spoil;
};

void AddSwitch(v1::JobSpec& spec, int64_t samples,
               const std::string& paradigm) {
  v1::PlannedSwitch& planned = *spec.add_switches();
  planned.set_samples(samples);
  planned.set_paradigm(paradigm);
}

std::vector<BadSpec> BadTasks() {
  return {
      {"model", "is required", [](auto& s) { s.clear_model(); }},
      {"model", "unknown model \"vgg\"; there are logreg, mlp",
       [](auto& s) { s.set_model("vgg"); }},
      {"model", "resnet110v2, and program:NAME for one's own",
       [](auto& s) { s.set_model("Program:x"); }},
      {"data", "is that of a model program:NAME; want mnist:DIR",
       [](auto& s) { s.set_data("program"); }},
      {"data", "is that of a model program:NAME; want mnist:DIR",
       [](auto& s) { s.set_data("stream"); }},
      {"arguments", "are for programs, as program:NAME",
       [](auto& s) { (*s.mutable_arguments())["depth"] = "18"; }},
      {"model", "has 5000 bytes; at most 4096",
       [](auto& s) { s.set_model(std::string(5000, 'm')); }},
      {"data", "is required", [](auto& s) { s.clear_data(); }},
      {"data", "want mnist:DIR", [](auto& s) { s.set_data("imagenet:/d"); }},
      {"data", "want mnist:DIR", [](auto& s) { s.set_data("mnist:"); }},
      {"data", "unknown synthetic data \"cats\"; there are shapes",
       [](auto& s) { s.set_data("synthetic:cats"); }},
      {"data", "at most 4096",
       [](auto& s) { s.set_data("mnist:" + std::string(5000, 'd')); }},
      {"wire", "no wire format 9",
       [](auto& s) { s.set_wire(static_cast<v1::WireFormat>(9)); }},
      {"precision", "no precision 9",
       [](auto& s) {
         s.set_precision(static_cast<v1::JobSpec::Precision>(9));
       }},
      {"servers", "is 2000; must be from 0 to 1024",
       [](auto& s) { s.set_servers(2000); }},
      {"initial_weights", "\"weights\"; must be an absolute path",
       [](auto& s) { s.set_initial_weights("weights"); }},
      {"initial_weights", "has 5000 bytes; at most 4096",
       [](auto& s) { s.set_initial_weights("/" + std::string(4999, 'w')); }},
      {"optimizer", "unknown optimizer \"lion\"",
       [](auto& s) { s.set_optimizer("lion"); }},
      {"optimizer", "momentum",
       [](auto& s) { s.set_optimizer("sgd:momentum=2"); }},
      {"schedule", "cosine", [](auto& s) { s.set_schedule("cosine"); }},
      {"schedule", "at=0.5", [](auto& s) { s.set_schedule("step"); }},
      {"round_strength", "use linear, sqrt, constant or adascale",
       [](auto& s) { s.set_round_strength("cubic"); }},
      {"learning_rate", "is -0.1", [](auto& s) { s.set_learning_rate(-0.1); }},
      {"learning_rate", "is nan", [](auto& s) { s.set_learning_rate(kNaN); }},
      {"learning_rate", "is inf",
       [](auto& s) { s.set_learning_rate(kInfinity); }},
      {"learning_rate", "at most 1e+06",
       [](auto& s) { s.set_learning_rate(2e6); }},
      {"batch_size", "must be from 0 to 65536",
       [](auto& s) { s.set_batch_size(65'537); }},
      {"micro_batch", "is 33; must be from 0 to 32",
       [](auto& s) { s.set_micro_batch(33); }},
      {"micro_batch", "is 9; must be from 0 to 8",
       [](auto& s) { s.set_batch_size(8), s.set_micro_batch(9); }},
  };
}

// A job whose model is its user's own.
v1::JobSpec ProgramSpec() {
  v1::JobSpec spec;
  spec.set_model("program:resnet-cifar");
  spec.set_data("program");
  return spec;
}

void SetArgument(v1::JobSpec& spec, const std::string& key,
                 const std::string& value) {
  (*spec.mutable_arguments())[key] = value;
}

std::vector<BadSpec> BadPrograms() {
  return {
      {"model", "the program's name is \"\"; want 1 to 63 letters",
       [](auto& s) { s.set_model("program:"); }},
      {"model", "the program's name is \"a b\"; want 1 to 63 letters",
       [](auto& s) { s.set_model("program:a b"); }},
      {"model", "the program's name is \"../x\"; want 1 to 63 letters",
       [](auto& s) { s.set_model("program:../x"); }},
      {"data", "is required", [](auto& s) { s.clear_data(); }},
      {"data", "a program reads its own; want program, or stream",
       [](auto& s) { s.set_data("mnist:/data"); }},
      {"data", "a program reads its own; want program, or stream",
       [](auto& s) { s.set_data("program:x"); }},
      {"precision", "is the program's own affair",
       [](auto& s) { s.set_precision(v1::JobSpec::TF32); }},
      {"arguments", "the key \"\" is wrong; a key has 1 to 63 letters",
       [](auto& s) { SetArgument(s, "", "x"); }},
      {"arguments", "the key \"a=b\" and 1 more are wrong",
       [](auto& s) { SetArgument(s, "a=b", ""), SetArgument(s, "é", ""); }},
      {"arguments", "have 65537 bytes; at most 65536",
       [](auto& s) { SetArgument(s, "k", std::string(65'536, 'v')); }},
  };
}

std::vector<BadSpec> BadAssignments() {
  return {
      {"data_assignment", "is \"fair\"; use dynamic or static",
       [](auto& s) { s.set_data_assignment("fair"); }},
      {"batching", "is \"balanced\", and data_assignment is \"static\"",
       [](auto& s) {
         s.set_data_assignment("static");
         s.set_batching("balanced");
       }},
      {"auto.act", "is true, and data_assignment is \"static\"",
       [](auto& s) {
         s.set_data_assignment("static");
         s.set_paradigm("auto");
       }},
      {"paradigm", "stealing takes samples of other workers' parts",
       [](auto& s) {
         s.set_data_assignment("static");
         s.set_paradigm("bsp:steal=true");
       }},
      {"switches[1].paradigm", "stealing takes samples of other workers' parts",
       [](auto& s) {
         s.set_data_assignment("static");
         AddSwitch(s, 1, "asp");
         AddSwitch(s, 2, "bsp:steal=true,fill=true");
       }},
  };
}

std::vector<BadSpec> BadParadigms() {
  return {
      {"paradigm", "unknown paradigm \"bps\"",
       [](auto& s) { s.set_paradigm("bps"); }},
      {"paradigm", "lower",
       [](auto& s) { s.set_paradigm("dssp:lower=5,upper=3"); }},
      {"paradigm", "at most 4096",
       [](auto& s) { s.set_paradigm(std::string(4097, 'p')); }},
      {"batching", "is \"odd\"; use even or balanced",
       [](auto& s) { s.set_batching("odd"); }},
      {"switches[0].paradigm", "is required",
       [](auto& s) { AddSwitch(s, 10, ""); }},
      {"switches[0].samples", "is -1; must not be below the 0",
       [](auto& s) { AddSwitch(s, -1, "asp"); }},
      {"switches[1].samples", "is 5; must not be below the 10 of the switch",
       [](auto& s) { AddSwitch(s, 10, "asp"), AddSwitch(s, 5, "bsp"); }},
      {"switches[1].paradigm", "unknown paradigm",
       [](auto& s) { AddSwitch(s, 1, "asp"), AddSwitch(s, 2, "x"); }},
      {"switches", "are 257; at most 256",
       [](auto& s) {
         for (int i = 0; i < 257; ++i) AddSwitch(s, i, "asp");
       }},
      {"workers.pools[1]", "must not be empty",
       [](auto& s) {
         s.mutable_workers()->add_pools("a");
         s.mutable_workers()->add_pools("");
       }},
      {"workers.pools[0]", "1 to 63 letters",
       [](auto& s) { s.mutable_workers()->add_pools(std::string(64, 'p')); }},
      {"workers.pools[0]", "is \"a b\"; a pool's name has 1 to 63",
       [](auto& s) { s.mutable_workers()->add_pools("a b"); }},
      {"workers.gpu_models[0]", "has 129 bytes; at most 128",
       [](auto& s) {
         s.mutable_workers()->add_gpu_models(std::string(129, 'g'));
       }},
      {"workers.gpu_models", "are 65; at most 64",
       [](auto& s) {
         for (int i = 0; i < 65; ++i) s.mutable_workers()->add_gpu_models("g");
       }},
      {"workers.min", "is 3; must be at most workers.max, which is 2",
       [](auto& s) {
         s.mutable_workers()->set_min(3);
         s.mutable_workers()->set_max(2);
       }},
      {"workers.min", "must be from 0 to 65536",
       [](auto& s) { s.mutable_workers()->set_min(4'000'000'000u); }},
      {"workers.max", "must be from 0 to 65536",
       [](auto& s) { s.mutable_workers()->set_max(4'000'000'000u); }},
  };
}

v1::MetricTarget& SetTarget(v1::JobSpec& spec, const std::string& metric) {
  v1::MetricTarget& target = *spec.mutable_stop()->mutable_target();
  target.set_metric(metric);
  target.set_value(20);
  target.set_direction(v1::MetricTarget::AT_MOST);
  return target;
}

std::vector<BadSpec> BadEnds() {
  return {
      {"stop.epochs", "must be from 0 to 1000000",
       [](auto& s) { s.mutable_stop()->set_epochs(1'000'001); }},
      {"stop.samples", "is -1",
       [](auto& s) { s.mutable_stop()->set_samples(-1); }},
      {"stop.samples", "is 9223372036854775807",
       [](auto& s) { s.mutable_stop()->set_samples(INT64_MAX); }},
      {"stop.seconds", "is -1",
       [](auto& s) { s.mutable_stop()->set_seconds(-1); }},
      {"stop.seconds", "is nan",
       [](auto& s) { s.mutable_stop()->set_seconds(kNaN); }},
      {"stop.seconds", "is inf",
       [](auto& s) { s.mutable_stop()->set_seconds(kInfinity); }},
      {"stop.target_accuracy", "is 97; must be from 0 to 1",
       [](auto& s) { s.mutable_stop()->set_target_accuracy(97); }},
      {"stop.target_accuracy", "is nan",
       [](auto& s) { s.mutable_stop()->set_target_accuracy(kNaN); }},
      {"stop.target_loss", "is -0.5",
       [](auto& s) { s.mutable_stop()->set_target_loss(-0.5); }},
      {"stop.target.metric", "is \"\"; a metric's name has 1 to 63",
       [](auto& s) { SetTarget(s, ""); }},
      {"stop.target.metric", "is \"top 5\"; a metric's name has 1 to 63",
       [](auto& s) { SetTarget(s, "top 5"); }},
      {"stop.target.value", "is nan; must be finite",
       [](auto& s) { SetTarget(s, "f1").set_value(kNaN); }},
      {"stop.target.direction", "must be AT_LEAST or AT_MOST",
       [](auto& s) { SetTarget(s, "f1").clear_direction(); }},
      {"evaluation.disabled", "contradicts a target",
       [](auto& s) {
         SetTarget(s, "perplexity");
         s.mutable_evaluation()->set_disabled(true);
       }},
      {"stop.at_target", "needs stop.target_accuracy, stop.target_loss or",
       [](auto& s) { s.mutable_stop()->set_at_target(true); }},
      {"stop.at_target", "contradicts evaluation.defer",
       [](auto& s) {
         s.mutable_stop()->set_at_target(true);
         s.mutable_stop()->set_target_loss(1);
         s.mutable_evaluation()->set_defer(true);
       }},
      {"evaluation.disabled", "contradicts a target",
       [](auto& s) {
         s.mutable_stop()->set_target_accuracy(0.9);
         s.mutable_evaluation()->set_disabled(true);
       }},
      {"evaluation.every", "is -5",
       [](auto& s) { s.mutable_evaluation()->set_every(-5); }},
  };
}

std::vector<BadSpec> BadRest() {
  return {
      {"checkpoints.keep", "must be from 0 to 1000",
       [](auto& s) { s.mutable_checkpoints()->set_keep(1001); }},
      {"checkpoints.interval", "must be from 1s to 30 days",
       [](auto& s) {
         s.mutable_checkpoints()->mutable_interval()->set_seconds(-1);
       }},
      {"checkpoints.interval", "must be from 1s",
       [](auto& s) {
         s.mutable_checkpoints()->mutable_interval()->set_nanos(500);
       }},
      {"checkpoints.interval", "must be from 1s",
       [](auto& s) {
         auto& interval = *s.mutable_checkpoints()->mutable_interval();
         interval.set_seconds(2);
         interval.set_nanos(-1);
       }},
      {"checkpoints.interval", "30 days",
       [](auto& s) {
         s.mutable_checkpoints()->mutable_interval()->set_seconds(INT64_MAX);
       }},
      {"", "bytes; at most 65536 are allowed",
       [](auto& s) {
         for (int i = 0; i < 200; ++i) AddSwitch(s, i, std::string(400, 'x'));
       }},
  };
}

// `spec` spoilt in one place is refused, and that place is named.
void ExpectRefused(v1::JobSpec spec, const BadSpec& bad) {
  SCOPED_TRACE(bad.field + ": " + bad.says);
  bad.spoil(spec);
  const absl::Status status = ParseJob(spec).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  const auto violations = ViolationsOf(status);
  ASSERT_EQ(violations.size(), 1) << status;
  EXPECT_EQ(violations[0].field, bad.field);
  EXPECT_THAT(violations[0].description, HasSubstr(bad.says));
}

TEST(ParseJobTest, WhoeverChoosesAndAPlanContradictEachOther) {
  ExpectRefused(SmallSpec(), {"switches", "are planned", [](auto& spec) {
                                spec.set_paradigm("auto");
                                AddSwitch(spec, 100, "asp");
                              }});
}

TEST(ParseJobTest, EveryBadFieldIsNamedAndNoOther) {
  for (const auto& specs :
       {BadTasks(), BadAssignments(), BadParadigms(), BadEnds(), BadRest()}) {
    for (const BadSpec& bad : specs) {
      ExpectRefused(SmallSpec(), bad);
    }
  }
}

TEST(ParseJobTest, WhatIsWrongWithAProgramsJobIsNamed) {
  for (const BadSpec& bad : BadPrograms()) {
    ExpectRefused(ProgramSpec(), bad);
  }
}

TEST(ParseJobTest, AProgramsArgumentsAreKept) {
  v1::JobSpec spec = ProgramSpec();
  spec.set_data("stream");
  SetArgument(spec, "depth", "18");
  SetArgument(spec, "text", std::string(65'000, 'v') + "\n=é");
  SetArgument(spec, "none", "");
  const auto plan = ParseJob(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->spec.arguments().size(), 3);
  EXPECT_EQ(plan->spec.arguments().at("depth"), "18");
  EXPECT_EQ(plan->spec.model(), "program:resnet-cifar");
  // What is so long is not the rest of the spec's length.
  const auto again = ParseJob(plan->spec);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST(ProgramOfTest, IsWhatStandsBehindTheColon) {
  EXPECT_EQ(ProgramOf("program:resnet"), "resnet");
  EXPECT_EQ(ProgramOf("program:"), "");
  EXPECT_EQ(ProgramOf("program"), std::nullopt);
  EXPECT_EQ(ProgramOf("resnet20"), std::nullopt);
}

TEST(ParseJobTest, AllBadFieldsAreNamedAtOnce) {
  v1::JobSpec spec;
  spec.set_model("vgg");
  spec.set_learning_rate(kNaN);
  spec.mutable_workers()->set_min(2);
  spec.mutable_workers()->set_max(1);
  FieldChecks checks;
  ParseJob("job.spec", spec, checks);
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ViolationsOf(checks.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields,
              ElementsAre("job.spec.model", "job.spec.data",
                          "job.spec.learning_rate", "job.spec.workers.min"));
}

TEST(ParseJobTest, TheSmallestSpecIsRightAndIsCompleted) {
  const auto plan = ParseJob(SmallSpec());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const v1::JobSpec& spec = plan->spec;
  EXPECT_EQ(spec.paradigm(), "bsp");
  EXPECT_EQ(spec.optimizer(), "sgd:momentum=0.9");
  EXPECT_DOUBLE_EQ(spec.learning_rate(), 0.005);
  EXPECT_EQ(spec.schedule(), "step:at=0.6|0.85,factor=0.3");
  EXPECT_EQ(spec.batch_size(), 32);
  EXPECT_EQ(spec.micro_batch(), 32);
  EXPECT_EQ(spec.batching(), "even");
  EXPECT_EQ(spec.data_assignment(), "dynamic");
  EXPECT_EQ(spec.wire(), v1::FP32);
  EXPECT_EQ(spec.precision(), v1::JobSpec::FP32);
  EXPECT_EQ(spec.round_strength(), "linear");
  EXPECT_EQ(spec.workers().min(), 1);
  EXPECT_EQ(spec.workers().max(), 0);
  EXPECT_EQ(spec.servers(), 0);
  EXPECT_EQ(spec.stop().epochs(), 1);
  EXPECT_EQ(spec.evaluation().every(), 0);
  EXPECT_FALSE(spec.checkpoints().has_interval());
  EXPECT_EQ(spec.checkpoints().keep(), 3);

  EXPECT_EQ(plan->optimizer.momentum, 0.9);
  EXPECT_THAT(plan->rate.at, ElementsAre(0.6, 0.85));
  EXPECT_EQ(plan->round_strength, RoundStrength::kLinear);
  EXPECT_EQ(plan->batching, Batching::kEven);
  EXPECT_EQ(plan->data_assignment, DataAssignment::kDynamic);
}

TEST(ParseJobTest, ACompleteSpecStaysAsItIs) {
  v1::JobSpec spec = SmallSpec();
  spec.set_paradigm("ssp");
  spec.set_seed(UINT64_MAX);
  spec.mutable_stop()->set_samples(100);
  spec.mutable_checkpoints()->mutable_interval()->set_seconds(30);
  AddSwitch(spec, 10, "dssp");
  AddSwitch(spec, 10, "asp");
  const auto plan = ParseJob(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->spec.paradigm(), "ssp:s=3");
  EXPECT_THAT(plan->spec.switches(0).paradigm(),
              HasSubstr("dssp:lower=3,upper=15"));
  EXPECT_EQ(plan->spec.stop().epochs(), 0);
  const auto again = ParseJob(plan->spec);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.SerializeAsString(), plan->spec.SerializeAsString());
}

TEST(ParseJobTest, ThePlanMeansWhatTheTextsSay) {
  v1::JobSpec spec = SmallSpec();
  spec.set_paradigm("dssp:lower=2,upper=9");
  spec.set_optimizer("adam:beta1=0.8");
  spec.set_schedule("constant:warmup=0.25");
  spec.set_round_strength("sqrt");
  spec.set_batching("balanced");
  AddSwitch(spec, 10, "asp");
  AddSwitch(spec, 20, "cgp:beta=0.5");
  const auto plan = ParseJob(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(FormatParadigm(plan->paradigm), plan->spec.paradigm());
  EXPECT_THAT(plan->spec.paradigm(), HasSubstr("dssp:lower=2,upper=9"));
  EXPECT_EQ(plan->optimizer.beta1, 0.8);
  EXPECT_EQ(plan->rate.warmup, 0.25);
  EXPECT_EQ(plan->round_strength, RoundStrength::kSqrt);
  EXPECT_EQ(plan->batching, Batching::kBalanced);
  ASSERT_EQ(plan->switches.size(), 2);
  EXPECT_EQ(plan->switches[0].samples, 10);
  EXPECT_EQ(FormatParadigm(plan->switches[1].paradigm),
            plan->spec.switches(1).paradigm());
  EXPECT_THAT(plan->spec.switches(1).paradigm(), HasSubstr("cgp:beta=0.5"));
}

TEST(ParseJobTest, StaticPartsGoWithWhatKeepsThem) {
  v1::JobSpec spec = SmallSpec();
  spec.set_data_assignment("static");
  spec.set_paradigm("saps");
  AddSwitch(spec, 10, "syncswitch:first=bsp,then=asp,at=0.3");
  const auto plan = ParseJob(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->data_assignment, DataAssignment::kStatic);
}

TEST(ParseJobTest, AnAutomaticParadigmBeginsWithOne) {
  v1::JobSpec spec = SmallSpec();
  spec.set_paradigm("auto");
  const auto plan = ParseJob(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->spec.paradigm(), kAutoBegins);
  EXPECT_TRUE(plan->spec.auto_().act());
  // It stays so when it is read again, whatever was chosen since.
  spec = plan->spec;
  spec.set_paradigm("asp");
  EXPECT_TRUE(ParseJob(spec)->spec.auto_().act());
  EXPECT_FALSE(ParseJob(SmallSpec())->spec.auto_().act());
}

TEST(EvaluationIntervalTest, IsATwentiethOfAnEpochUnlessTold) {
  EXPECT_EQ(EvaluationInterval(0, 60000), 3000);
  EXPECT_EQ(EvaluationInterval(0, 7), 1);
  EXPECT_EQ(EvaluationInterval(64, 60000), 64);
}

}  // namespace
}  // namespace paceline
