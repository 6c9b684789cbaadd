#include "services/simulator/training/virtual_training.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/permutation.h"
#include "gtest/gtest.h"
#include "services/coordinator/run/course/course.h"
#include "services/coordinator/sync/core/ada_scale.h"
#include "services/simulator/virtual_cluster.h"
#include "services/worker/data/dataset.h"
#include "services/worker/evaluation.h"

namespace paceline {
namespace {

constexpr uint32_t kBatch = 32;  // TrainingSpec's.
constexpr double kRate = 0.05;
constexpr Nanos kSecond = 1'000'000'000;

// What the course makes of the noise of the gradients.
class NoiseSeen final : public ClusterObserver {
 public:
  void Stepped(Nanos /*at*/, const RunCourse& course,
               const absl::Status& /*status*/) override {
    noise = course.noise();
  }
  void Closed(Nanos /*at*/, const CloseCommand& close,
              std::optional<ClosedGradient>& /*gradient*/) override {
    rates.push_back(close.rate);
  }
  std::optional<GradientNoise> noise;
  std::vector<double> rates;  // Of all closings.
};

class VirtualTrainingTest : public testing::Test {
 protected:
  VirtualTrainingTest() { spec_.model = "mlp"; }

  static const Dataset& Data(Split split) {
    static const Dataset* const train =
        new Dataset(*LoadDataset("synthetic:tiny", Split::kTrain));
    static const Dataset* const test =
        new Dataset(*LoadDataset("synthetic:tiny", Split::kTest));
    return split == Split::kTrain ? *train : *test;
  }

  std::unique_ptr<VirtualTraining> Make() {
    auto training = VirtualTraining::Create(spec_, train_, test_);
    EXPECT_TRUE(training.ok()) << training.status();
    return *std::move(training);
  }

  // A whole run on workers with these seconds per iteration.
  std::unique_ptr<VirtualTraining> Train(const std::string& paradigm,
                                         const std::vector<int64_t>& seconds,
                                         uint32_t epochs) {
    ClusterSpec cluster;
    for (const int64_t s : seconds) {
      cluster.workers.emplace_back().device.iteration = s * kSecond;
    }
    cluster.train_samples = train_->size();
    cluster.settings.stop.epochs = epochs;
    cluster.run.batch_size = kBatch;
    cluster.run.total_momentum = TotalMomentum(spec_.optimizer);
    cluster.run.ada_scale = spec_.round_strength == RoundStrength::kAdaScale;
    cluster.run.paradigm = *ParseParadigm(paradigm);
    cluster.run.evaluate = true;
    cluster.run.eval_every = 512;
    cluster.settings.learning_rate = kRate;
    cluster.settings.stop.target_accuracy = target_accuracy_;
    cluster.settings.stop.at_target = target_accuracy_ > 0;
    std::unique_ptr<VirtualTraining> training = Make();
    NoiseSeen seen;
    const SimulationResult result =
        VirtualCluster(&cluster, {training.get(), &seen}).Run();
    noise_ = seen.noise;
    rates_ = std::move(seen.rates);
    EXPECT_TRUE(result.complete);
    EXPECT_TRUE(training->status().ok()) << training->status();
    samples_ = result.samples;
    return training;
  }

  static double LossNow(VirtualTraining& training) {
    MemberEvaluated evaluated;
    training.SnapshotTaken(3, {.snapshot = 1}, evaluated);
    EXPECT_TRUE(evaluated.status.ok()) << evaluated.status;
    return evaluated.loss.value_or(std::nan(""));
  }

  // Gives the loss that is told of it.
  static std::optional<double> Push(VirtualTraining& training, Nanos at,
                                    const Grant& grant) {
    PushReport report;
    training.PushTaken(at, grant, kBatch, report);
    // Of a loss that is not finite nothing reaches the servers.
    EXPECT_EQ(report.gradient_square.has_value(), report.loss.has_value());
    return report.loss;
  }

  std::optional<GradientNoise> noise_;  // In the end.
  std::vector<double> rates_;           // Of the closings.
  TrainingSpec spec_;
  const Dataset* train_ = &Data(Split::kTrain);
  const Dataset* test_ = &Data(Split::kTest);
  double target_accuracy_ = 0;
  int64_t samples_ = 0;
};

Grant GrantOf(uint32_t worker, uint32_t begin) {
  Grant grant;
  grant.worker = WorkerId{worker};
  grant.iteration = 1;
  grant.range = {0, begin, begin + kBatch};
  grant.plan = PushPlan::Immediate();
  grant.rate = kRate;
  return grant;
}

// A model by itself, as plainly as can be.
class Plain {
 public:
  explicit Plain(const Dataset& data) : data_(data) {
    model_ = *Model::Create("mlp", data.shape(), data.classes(), backend_.get(),
                            kEvaluationBatch);
    EXPECT_TRUE(model_->Initialize(1).ok());
  }

  std::vector<std::vector<float>> Gradient(uint32_t begin,
                                           uint32_t count = kBatch) {
    const auto order = EpochPermutation(1, 0, data_.size());
    std::vector<float> images(count * data_.shape().size());
    std::vector<uint8_t> labels(count);
    data_.Gather({order.data() + begin, count}, images.data(), labels.data());
    const auto loss = model_->ForwardBackward(
        images.data(), labels.data(), static_cast<int>(count),
        1.0f / static_cast<float>(count), true);
    EXPECT_TRUE(loss.ok()) << loss.status();
    loss_ = loss.ok() ? loss->loss_sum / count : 0;
    std::vector<std::vector<float>> gradients;
    for (size_t i = 0; i < model_->tensors().size(); ++i) {
      gradients.emplace_back(model_->gradient(i).begin(),
                             model_->gradient(i).end());
    }
    return gradients;
  }

  // `part`: of the rate.
  void Step(const std::vector<std::vector<float>>& gradients, double part = 1) {
    const auto rate = static_cast<float>(part * kRate);
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto weights = model_->parameter(i);
      for (size_t k = 0; k < weights.size(); ++k) {
        weights[k] -= rate * gradients[i][k];
      }
    }
    EXPECT_TRUE(model_->ParametersChanged().ok());
  }

  // Of the latest gradient.
  double loss() const { return loss_; }

  double Loss(const Dataset& test) {
    return Evaluate(*model_, test, 0, [] { return true; })->loss;
  }

 private:
  const Dataset& data_;
  std::unique_ptr<Backend> backend_ = *MakeBackend("cpu");
  std::unique_ptr<Model> model_;
  double loss_ = 0;
};

// The second worker's push comes between the first one's pull and push: the
// gradient is that of the weights that were pulled, not of those that are
// there.
TEST_F(VirtualTrainingTest, GradientsComeFromTheWeightsThatWerePulled) {
  const auto training = Make();
  const Grant slow = GrantOf(0, 0);
  const Grant fast = GrantOf(1, kBatch);
  training->Pulled(0, slow);
  training->Pulled(0, fast);
  Push(*training, 1, fast);
  Push(*training, 2, slow);
  const double loss = LossNow(*training);

  Plain plain(Data(Split::kTrain));
  const auto of_slow = plain.Gradient(0);
  const auto of_fast = plain.Gradient(kBatch);
  plain.Step(of_fast);
  const double fresh = plain.Loss(Data(Split::kTest));
  plain.Step(of_slow);
  EXPECT_NEAR(loss, plain.Loss(Data(Split::kTest)), 1e-6);
  EXPECT_GT(std::abs(loss - fresh), 1e-4);
}

TEST_F(VirtualTrainingTest, ARoundIsOneUpdateOfAllItsPushes) {
  const auto training = Make();
  Grant a = GrantOf(0, 0);
  Grant b = GrantOf(1, kBatch);
  a.plan = b.plan = PushPlan::Round(RoundId{7});
  training->Pulled(0, a);
  training->Pulled(0, b);
  const std::optional<double> loss_of_a = Push(*training, 1, a);
  const std::optional<double> loss_of_b = Push(*training, 2, b);
  CloseCommand close;
  close.closing = 1;
  close.rounds = {RoundId{7}};
  close.rate = kRate;
  std::optional<ClosedGradient> gradient;
  training->Closed(3, close, gradient);
  ASSERT_TRUE(gradient.has_value());
  EXPECT_EQ(gradient->samples, 2 * kBatch);
  EXPECT_GT(gradient->square, 0);
  const double loss = LossNow(*training);

  Plain plain(Data(Split::kTrain));
  const auto of_a = plain.Gradient(0);
  EXPECT_NEAR(loss_of_a.value_or(0), plain.loss(), 1e-6);
  const auto of_b = plain.Gradient(kBatch);
  EXPECT_NEAR(loss_of_b.value_or(0), plain.loss(), 1e-6);
  plain.Step(of_a);
  plain.Step(of_b);
  EXPECT_NEAR(loss, plain.Loss(Data(Split::kTest)), 1e-6);
}

// Two local steps of half a batch each move the weights as far as plain SGD
// does, and a push with the outer rate 1 brings them there.
TEST_F(VirtualTrainingTest, LocalStepsArePushedAsTheWayTheyCame) {
  spec_.local_rate = kRate;
  spec_.micro_batch = kBatch / 2;
  const auto training = Make();
  Grant grant = GrantOf(0, 0);
  grant.rate = 1;
  training->Pulled(0, grant);
  const std::optional<double> loss_told = Push(*training, 1, grant);
  const double loss = LossNow(*training);

  Plain plain(Data(Split::kTrain));
  plain.Step(plain.Gradient(0, kBatch / 2));
  const double first = plain.loss();
  plain.Step(plain.Gradient(kBatch / 2, kBatch / 2));
  EXPECT_NEAR(loss_told.value_or(0), (first + plain.loss()) / 2, 1e-6);
  EXPECT_NEAR(loss, plain.Loss(Data(Split::kTest)), 1e-5);
}

// From weights that are pulled, and at half the way with an outer rate of 0.5.
TEST_F(VirtualTrainingTest, EachWorkersLocalStepsBeginWhereItPulled) {
  spec_.local_rate = kRate;
  const auto training = Make();
  Grant slow = GrantOf(0, 0);
  Grant fast = GrantOf(1, kBatch);
  slow.rate = fast.rate = 0.5;
  training->Pulled(0, slow);
  training->Pulled(0, fast);
  Push(*training, 1, fast);
  Push(*training, 2, slow);
  const double loss = LossNow(*training);

  Plain plain(Data(Split::kTrain));
  const auto of_slow = plain.Gradient(0);
  const auto of_fast = plain.Gradient(kBatch);
  plain.Step(of_fast, 0.5);
  plain.Step(of_slow, 0.5);
  EXPECT_NEAR(loss, plain.Loss(Data(Split::kTest)), 1e-5);
}

// A network with statistics learns by local steps as well.
TEST_F(VirtualTrainingTest, LocalStepsMoveStatisticsToo) {
  spec_.model = "resnet20";
  spec_.micro_batch = kBatch / 2;
  spec_.local_rate = kRate;
  const auto training = Make();
  Grant grant = GrantOf(0, 0);
  grant.rate = 1;
  const double before = LossNow(*training);
  for (grant.iteration = 1; grant.iteration <= 6; ++grant.iteration) {
    training->Pulled(0, grant);
    EXPECT_TRUE(Push(*training, 1, grant).has_value());
  }
  EXPECT_EQ(training->refused_blocks(), 0);
  EXPECT_LT(LossNow(*training), before);
}

// Whoever gathers gradients of the same weights measures their noise.
TEST_F(VirtualTrainingTest, RoundsMeasureTheNoiseOfTheGradients) {
  for (const char* paradigm :
       {"bsp", "backup:b=1", "ksync:k=2", "kbatchsync:k=2", "cgp"}) {
    Train(paradigm, {1, 1, 4}, 8);
    ASSERT_TRUE(noise_.has_value()) << paradigm;
    EXPECT_GT(noise_->variance, 0) << paradigm;
    ASSERT_TRUE(noise_->Scale().has_value()) << paradigm;
    EXPECT_GT(*noise_->Scale(), 1) << paradigm;
    EXPECT_LT(*noise_->Scale(), 10'000) << paradigm;
  }
  for (const char* paradigm : {"asp", "ssp:s=2", "kasync:k=1"}) {
    Train(paradigm, {1, 1, 4}, 8);
    EXPECT_FALSE(noise_.has_value()) << paradigm;
  }
}

TEST_F(VirtualTrainingTest, AdaScaleTakesTheMeasuredNoise) {
  spec_.round_strength = RoundStrength::kAdaScale;
  const auto training = Train("bsp", {1, 1, 4}, 8);
  ASSERT_GT(rates_.size(), 50u);
  for (int64_t i = 0; i < SmoothedNoise::kEnough; ++i) {
    EXPECT_EQ(rates_[static_cast<size_t>(i)], kRate) << "update " << i;
  }
  for (const double rate : rates_) {
    EXPECT_GE(rate, kRate);
    EXPECT_LE(rate, 3 * kRate);
  }
  // The last full round has the noise of about the end.
  ASSERT_TRUE(noise_.has_value());
  EXPECT_NEAR(rates_[rates_.size() - 3],
              kRate * AdaScaleGain(3, noise_->Over(kBatch)), 0.01 * kRate);
  EXPECT_LT(LossNow(*training), 1.5);  // It began at 2.3.
}

TEST_F(VirtualTrainingTest, EveryParadigmLearns) {
  for (const char* paradigm :
       {"bsp", "asp", "ssp:s=2", "dssp", "saps", "cgp", "ksync:k=2",
        "ksync:k=auto", "kasync:k=2", "backup:b=1", "abs", "elastic", "psp",
        "asp:staleness_weight=delay_compensated",
        "asp:staleness_weight=delay_compensated,mean_square=0.95",
        "kbatchasync:k=2,staleness_weight=delay_compensated"}) {
    const auto training = Train(paradigm, {1, 1, 4}, 4);
    const std::vector<AccuracyPoint>& points = training->accuracy();
    ASSERT_GE(points.size(), 8u) << paradigm;
    EXPECT_LT(*points.back().loss, 0.9 * *points.front().loss) << paradigm;
    EXPECT_EQ(points.back().samples, samples_) << paradigm;
    EXPECT_EQ(training->refused_blocks(), 0) << paradigm;
  }
}

// The loss is above 2 at first, so that a round takes two gradients, or more,
// where one is right for a loss of 8.
TEST_F(VirtualTrainingTest, AnAutomaticKFollowsTheLoss) {
  for (const std::string rule : {"ksync", "kbatchsync", "kbatchasync"}) {
    const auto updates = [&](const std::string& k) {
      // No two are ready at once: one of them would be too late.
      return Train(rule + ":" + k, {7, 9, 11, 13}, 4)
          ->accuracy()
          .back()
          .version;
    };
    const auto alone = updates("k=1");
    const auto automatic = updates("k=auto,k0=1,loss0=8");
    EXPECT_LT(automatic, 0.6 * static_cast<double>(alone)) << rule;
    EXPECT_GT(automatic, updates("k=4")) << rule;
    EXPECT_EQ(automatic, updates("k=auto,k0=1,loss0=8")) << rule;
    // It is never so low.
    EXPECT_EQ(updates("k=auto,k0=1,loss0=0.000001"), alone) << rule;
  }
}

TEST_F(VirtualTrainingTest, OneSpecGivesOneHistory) {
  const auto loss_of = [&](const std::string& paradigm) {
    return Train(paradigm, {1, 2, 4}, 1)->accuracy().back().loss;
  };
  EXPECT_EQ(loss_of("asp"), loss_of("asp"));
  EXPECT_NE(loss_of("asp"), loss_of("bsp"));
}

// The same images, moved or cropped as images of CIFAR are on demand.
Dataset Changed(const Dataset& data, std::optional<MoveRange> moves, int crop) {
  return *Dataset::Create(
      "changed", {.shape = data.shape(),
                  .classes = data.classes(),
                  .pixels = {data.pixels().begin(), data.pixels().end()},
                  .labels = {data.labels().begin(), data.labels().end()},
                  .normalization = {{0.5f, 0.25f}},
                  .moves = moves,
                  .crop = crop});
}

TEST_F(VirtualTrainingTest, CroppedImagesAreTrainedAndTested) {
  const int side = Data(Split::kTrain).shape().width - 4;
  const Dataset train = Changed(Data(Split::kTrain), MoveRange{0, 4}, side);
  const Dataset test = Changed(Data(Split::kTest), std::nullopt, side);
  train_ = &train;
  test_ = &test;
  const auto loss = Train("asp", {1, 2, 4}, 1)->accuracy().back().loss;
  EXPECT_EQ(loss, Train("asp", {1, 2, 4}, 1)->accuracy().back().loss);
  train_ = &Data(Split::kTrain);
  test_ = &Data(Split::kTest);
  EXPECT_NE(loss, Train("asp", {1, 2, 4}, 1)->accuracy().back().loss);
}

TEST_F(VirtualTrainingTest, MovedImagesGiveOneHistoryAsWell) {
  const Dataset& tiny = Data(Split::kTrain);
  const Dataset moved = Changed(tiny, MoveRange{-4, 4}, 0);
  const auto loss_of = [&](const Dataset& train) {
    train_ = &train;
    return Train("asp", {1, 2, 4}, 1)->accuracy().back().loss;
  };
  const auto loss = loss_of(moved);
  EXPECT_EQ(loss, loss_of(moved));
  EXPECT_NE(loss, loss_of(tiny));
}

// What staleness takes off the momentum is nothing in BSP, to the bit, and much
// in ASP.
TEST_F(VirtualTrainingTest, AnAutomaticMomentumFallsWithStaleness) {
  const auto loss_of = [&](const std::string& paradigm, const char* optimizer) {
    spec_.optimizer = *ParseOptimizerSpec(optimizer);
    return Train(paradigm, {1, 2, 4}, 1)->accuracy().back().loss;
  };
  EXPECT_EQ(loss_of("bsp", "sgd:momentum=auto"),
            loss_of("bsp", "sgd:momentum=0.9"));
  EXPECT_NE(loss_of("asp", "sgd:momentum=auto"),
            loss_of("asp", "sgd:momentum=0.9"));
}

// HeLoCo leaves rounds alone, to the bit, and turns what is pushed alone.
TEST_F(VirtualTrainingTest, ACorrectionIsOfPushesThatMayBeStale) {
  spec_.local_rate = kRate;
  spec_.micro_batch = kBatch / 4;
  const auto loss_of = [&](const std::string& paradigm,
                           const std::string& correction) {
    spec_.optimizer =
        *ParseOptimizerSpec("sgd:momentum=0.9,nesterov=true" + correction);
    return Train(paradigm, {1, 2, 4}, 2)->accuracy().back().loss;
  };
  EXPECT_EQ(loss_of("bsp", ",correction=heloco"), loss_of("bsp", ""));
  EXPECT_NE(loss_of("asp", ",correction=heloco"), loss_of("asp", ""));
  EXPECT_NE(loss_of("asp", ",delay=3,correction=heloco"),
            loss_of("asp", ",delay=3"));
}

TEST_F(VirtualTrainingTest, StopsAtTheTarget) {
  target_accuracy_ = 0.12;  // A guess has a tenth.
  const auto training = Train("asp", {1, 1, 4}, 40);
  EXPECT_LT(samples_, 40 * 1024);
  EXPECT_TRUE(TargetReached(training->accuracy(), AccuracyTarget(0.12)));
}

TEST_F(VirtualTrainingTest, ALossThatIsNotFiniteIsNotPushed) {
  const auto training = Make();
  Grant grant = GrantOf(0, 0);
  grant.rate = 1e6;  // The weights explode.
  std::optional<double> loss;
  for (grant.iteration = 1; grant.iteration <= 20; ++grant.iteration) {
    training->Pulled(0, grant);
    loss = Push(*training, 1, grant);
  }
  EXPECT_EQ(loss, std::nullopt);
  EXPECT_TRUE(training->status().ok()) << training->status();
  EXPECT_GT(training->refused_blocks(), 0);
}

TEST_F(VirtualTrainingTest, SaysWhatModelItDoesNotKnow) {
  spec_.model = "gpt";
  const auto training =
      VirtualTraining::Create(spec_, &Data(Split::kTrain), &Data(Split::kTest));
  EXPECT_TRUE(absl::IsInvalidArgument(training.status()));
}

}  // namespace
}  // namespace paceline
