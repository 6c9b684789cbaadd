#include "services/coordinator/run/course/model.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

using Model = std::vector<ModelTensor>;

Model SmallModel() {
  return {{"dense.weight", {10, 4}, 40},
          {"norm.mean", {4}, 4, TensorKind::kStatistic}};
}

TEST(ModelTest, TakesModels) {
  EXPECT_TRUE(CheckModel(SmallModel()).ok());
  EXPECT_TRUE(CheckModel({{"one", {}, 1}}).ok());
  EXPECT_TRUE(CheckModel({{"all", {int64_t{1} << 38}, int64_t{1} << 38}}).ok());
  Model tuned = SmallModel();
  tuned[0].rate_factor = 0;
  tuned[0].weight_decay = 1;
  tuned[1].momentum = 1;
  tuned.push_back({"base", {3}, 3, TensorKind::kFrozen});
  EXPECT_TRUE(CheckModel(tuned).ok());
}

TEST(ModelTest, CountsItsElements) {
  const WorkerModel model{SmallModel(), 100};
  EXPECT_EQ(model.Elements(), 44);
  EXPECT_EQ(model.Parameters(), 40);
}

std::string Disagreement(const WorkerModel& agreed, const WorkerModel& other,
                         bool trainer = true) {
  const absl::Status status = CheckAgreement(agreed, "w0", other, trainer);
  EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(ModelTest, TrainersAgreeOnModelAndDataEvaluatorsOnTheShapes) {
  const WorkerModel agreed{SmallModel(), 50'000};
  WorkerModel other = agreed;
  EXPECT_EQ(Disagreement(agreed, other), "");
  other.train_samples = 49'984;
  EXPECT_EQ(Disagreement(agreed, other),
            "the job wants 50,000 samples, this data set has 49,984: give all "
            "workers the same data");
  EXPECT_EQ(Disagreement(agreed, other, /*trainer=*/false), "");
  other.tensors[0].rate_factor = 0.1;
  other.tensors[1].kind = TensorKind::kAveraged;
  EXPECT_EQ(Disagreement(agreed, other, /*trainer=*/false), "");
  other.tensors[0].shape = {4, 10};
  EXPECT_NE(Disagreement(agreed, other, /*trainer=*/false), "");
}

TEST(ModelTest, NamesTheFirstDifference) {
  struct Case {
    std::string says;
    std::function<void(Model&)> change;
  };
  const std::vector<Case> kCases = {
      {"tensor \"dense.weight\" is [4, 10] here and [10, 4] at worker w0",
       [](Model& m) {
         m[0].shape = {4, 10}, m[1].shape = {2, 2};
       }},
      {"tensor \"dense.weight\" is [] here and [10, 4] at worker w0",
       [](Model& m) { m[0].shape = {}; }},
      {"tensor 1 is \"norm.var\" here and \"norm.mean\" at worker w0",
       [](Model& m) { m[1].name = "norm.var"; }},
      {"tensor \"norm.mean\" is averaged here and statistic at worker w0",
       [](Model& m) { m[1].kind = TensorKind::kAveraged; }},
      {"tensor \"dense.weight\" is frozen here and trained at worker w0",
       [](Model& m) { m[0].kind = TensorKind::kFrozen; }},
      {"tensor \"dense.weight\" has the rate_factor 0.1 here and no "
       "rate_factor of its own at worker w0",
       [](Model& m) { m[0].rate_factor = 0.1; }},
      {"tensor \"norm.mean\" has the momentum 0.01 here and no momentum",
       [](Model& m) { m[1].momentum = 0.01; }},
      {"tensor \"dense.weight\" has the weight_decay 0 here and no",
       [](Model& m) { m[0].weight_decay = 0; }},
      {"tensor \"head\" is here and not at worker w0",
       [](Model& m) {
         m.push_back({"head", {2}, 2});
       }},
      {"tensor \"norm.mean\" is not here and is at worker w0",
       [](Model& m) { m.pop_back(); }},
  };
  const WorkerModel agreed{SmallModel(), 100};
  for (const Case& c : kCases) {
    WorkerModel other = agreed;
    c.change(other.tensors);
    EXPECT_THAT(Disagreement(agreed, other), testing::StartsWith(c.says));
  }
}

TEST(ModelTest, InitialWeightsHaveAllTensorsInTheirShapes) {
  Model weights = SmallModel();
  std::swap(weights.front(), weights.back());
  weights.push_back({"head", {3}, 3});
  EXPECT_TRUE(HasWeights(SmallModel(), weights).ok());

  weights[1].shape = {4, 10};
  absl::Status status = HasWeights(SmallModel(), weights);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("\"dense.weight\" is [4, 10], the workers' model's "
                        "[10, 4]"));

  weights.erase(weights.begin() + 1);
  status = HasWeights(SmallModel(), weights);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("have no tensor \"dense.weight\""));
}

TEST(ModelTest, RefusesWhatCannotBe) {
  const std::function<void(Model&)> kChanges[] = {
      [](Model& m) { m[0].name.clear(); },
      [](Model& m) { m[0].name = std::string(1025, 'x'); },
      [](Model& m) { m[0].name = m[1].name; }, [](Model& m) { m[0].size = 39; },
      [](Model& m) { m[0].size = 0; },
      [](Model& m) {
        m[0].shape[0] = 0;
        m[0].size = 0;
      },
      [](Model& m) {
        m[0].shape[0] = -10;
        m[0].size = -40;
      },
      // 2^62 elements, and 2^64, which are 0 in 64 bits.
      [](Model& m) {
        m[0].shape[0] = int64_t{1} << 60;
        m[0].size = int64_t{1} << 62;
      },
      [](Model& m) {
        m[0].shape[0] = int64_t{1} << 62;
        m[0].size = 0;
      },
      // Each possible, but not both.
      [](Model& m) {
        m[0].shape[0] = int64_t{1} << 36;
        m[0].size = int64_t{1} << 38;
      },
      [](Model& m) { m[0].rate_factor = -0.1; },
      [](Model& m) { m[0].rate_factor = NAN; },
      [](Model& m) { m[0].rate_factor = 2e6; },
      [](Model& m) { m[0].weight_decay = 1.5; },
      [](Model& m) { m[1].momentum = 0; },
      [](Model& m) { m[1].momentum = 1.1; },
      // Nothing would ever be pushed.
      [](Model& m) { m[0].kind = m[1].kind = TensorKind::kFrozen; }};
  int number = 0;
  for (const auto& change : kChanges) {
    Model model = SmallModel();
    change(model);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckModel(model)))
        << "change " << number;
    ++number;
  }
}

}  // namespace
}  // namespace paceline
