#include "services/cli/job_flags.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "services/cli/local_options.h"

namespace paceline {
namespace {

using testing::HasSubstr;

v1::JobSpec Spec() {
  LocalFlags flags;
  flags.paradigms = {"ssp:s=3"};
  flags.model = "mlp";
  flags.data = "mnist:/data";
  flags.wire = "bf16";
  flags.precision = "tf32";
  flags.lease = "2500ms";
  flags.learning_rate = 0.125;
  flags.seed = "18446744073709551615";
  flags.target_accuracy = {0.5};
  flags.stop_at_target = true;
  flags.round_strength = "sqrt";
  flags.max_seconds = 1.5;
  const JobRequest job = ParseLocalOptions(flags)->job;
  return MakeJobSpec(job, job.runs[0], 60000);
}

TEST(JobFlagsTest, AnyMetricCanBeTheTarget) {
  JobFlags flags;
  flags.target = "perplexity<=20";
  flags.stop_at_target = true;
  const auto request = ParseJobFlags(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  const v1::StopConditions& stop = request->spec.stop();
  EXPECT_EQ(stop.target().metric(), "perplexity");
  EXPECT_EQ(stop.target().value(), 20);
  EXPECT_EQ(stop.target().direction(), v1::MetricTarget::AT_MOST);
  EXPECT_TRUE(stop.at_target());
  flags.target = "perplexity";
  EXPECT_THAT(ParseJobFlags(flags).status().ToString(),
              HasSubstr("--target \"perplexity\": must be METRIC<=VALUE"));
  flags.target = "accuracy>=0.9";
  flags.target_accuracy = {0.9};
  EXPECT_THAT(ParseJobFlags(flags).status().ToString(),
              HasSubstr("--target and --target-accuracy: give one of them"));
}

TEST(JobSpecTest, CarriesEveryOption) {
  const v1::JobSpec spec = Spec();
  EXPECT_EQ(spec.model(), "mlp");
  EXPECT_EQ(spec.data(), "mnist:/data");
  EXPECT_EQ(spec.paradigm(), "ssp:s=3");
  EXPECT_EQ(spec.optimizer(), "sgd:momentum=0.9");
  EXPECT_EQ(spec.learning_rate(), 0.125);
  EXPECT_EQ(spec.schedule(), "step:at=0.6|0.85,factor=0.3");
  EXPECT_EQ(spec.batch_size(), 32u);
  EXPECT_EQ(spec.micro_batch(), 0u);
  EXPECT_EQ(spec.stop().epochs(), 1u);
  EXPECT_EQ(spec.stop().seconds(), 1.5);
  EXPECT_EQ(spec.seed(), 18446744073709551615u);
  EXPECT_EQ(spec.wire(), v1::BF16);
  EXPECT_EQ(spec.precision(), v1::JobSpec::TF32);
  EXPECT_EQ(spec.round_strength(), "sqrt");
  EXPECT_EQ(spec.stop().target_accuracy(), 0.5);
  EXPECT_TRUE(spec.stop().at_target());
  EXPECT_FALSE(spec.evaluation().defer());
  EXPECT_EQ(spec.workers().min(), 4u);
  EXPECT_EQ(spec.workers().max(), 4u);
  EXPECT_EQ(spec.servers(), 2u);
  EXPECT_FALSE(spec.evaluation().disabled());
}

TEST(JobSpecTest, SwitchesComeAfterTheirShareOfTheSamples) {
  LocalFlags flags;
  flags.epochs = 2;
  flags.switch_at = {"50%=asp", "25%=ssp:s=1"};
  flags.paradigms = {"bsp,batching=balanced"};
  const JobRequest job = ParseLocalOptions(flags)->job;
  const v1::JobSpec spec = MakeJobSpec(job, job.runs[0], 1000);
  EXPECT_EQ(spec.paradigm(), "bsp");
  EXPECT_EQ(spec.batching(), "balanced");
  ASSERT_EQ(spec.switches_size(), 2);
  EXPECT_EQ(spec.switches(0).samples(), 500);
  EXPECT_EQ(spec.switches(0).paradigm(), "ssp:s=1");
  EXPECT_EQ(spec.switches(1).samples(), 1000);
}

TEST(JobSpecTest, HasTheAssignmentOfItsData) {
  LocalFlags flags;
  EXPECT_EQ(ParseLocalOptions(flags)->job.spec.data_assignment(), "dynamic");
  flags.data_assignment = "static";
  EXPECT_EQ(ParseLocalOptions(flags)->job.spec.data_assignment(), "static");
}

TEST(JobSpecTest, JsonIsReadBackAsTheSameJob) {
  const v1::JobSpec spec = Spec();
  v1::JobSpec read;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(JobSpecJson(spec), &read)
          .ok());
  EXPECT_EQ(read.SerializeAsString(), spec.SerializeAsString());
}

TEST(SwitchFlagTest, ReadsSharesAndSortsThem) {
  const auto switches = ParseSwitches({"50%=ssp:s=3", "12.5%=asp", "0%=bsp"});
  ASSERT_TRUE(switches.ok()) << switches.status();
  ASSERT_EQ(switches->size(), 3);
  EXPECT_EQ((*switches)[0].text, "bsp");
  EXPECT_EQ((*switches)[1].share, 0.125);
  EXPECT_EQ((*switches)[2].text, "ssp:s=3");
}

TEST(SwitchFlagTest, SaysWhatIsWrong) {
  for (const char* const value : {"50=asp", "asp", "50%", "50%=", "100%=asp",
                                  "-1%=asp", "nan%=asp", "x%=asp", ""}) {
    const auto switches = ParseSwitches({value});
    EXPECT_EQ(switches.status().code(), absl::StatusCode::kInvalidArgument)
        << value;
    EXPECT_THAT(std::string(switches.status().message()),
                HasSubstr("SHARE%=PARADIGM"))
        << value;
  }
  EXPECT_THAT(std::string(ParseSwitches({"5%=ass"}).status().message()),
              HasSubstr("unknown paradigm"));
}

}  // namespace
}  // namespace paceline
