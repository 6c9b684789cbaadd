#include "services/cli/job_spec.h"

#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

LocalOptions Options() {
  LocalFlags flags;
  flags.model = "mlp";
  flags.data = "mnist:/data";
  flags.wire = "bf16";
  flags.precision = "tf32";
  flags.lease = "2500ms";
  flags.learning_rate = 0.125;
  flags.seed = "18446744073709551615";
  flags.target_accuracy = 0.5;
  flags.stop_at_target = true;
  flags.round_strength = "sqrt";
  flags.max_seconds = 1.5;
  return *ParseLocalOptions(flags);
}

TEST(JobSpecTest, CarriesEveryOption) {
  const v1::JobSpec spec = MakeJobSpec(Options(), "ssp:s=3", 60000);
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

TEST(JobSpecTest, EvaluatesEveryTwentiethOfAnEpochUnlessTold) {
  LocalOptions options = Options();
  EXPECT_EQ(MakeJobSpec(options, "bsp", 60000).evaluation().every(), 3000);
  EXPECT_EQ(MakeJobSpec(options, "bsp", 7).evaluation().every(), 1);
  options.eval_every = 64;
  EXPECT_EQ(MakeJobSpec(options, "bsp", 60000).evaluation().every(), 64);
}

TEST(JobSpecTest, JsonIsReadBackAsTheSameJob) {
  const v1::JobSpec spec = MakeJobSpec(Options(), "bsp", 60000);
  v1::JobSpec read;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(JobSpecJson(spec), &read)
          .ok());
  EXPECT_EQ(read.SerializeAsString(), spec.SerializeAsString());
}

}  // namespace
}  // namespace paceline
