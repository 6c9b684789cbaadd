#include "services/coordinator/run/course/model.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

using Model = std::vector<ModelTensor>;

Model SmallModel() {
  return {{"dense.weight", {10, 4}, 40, false}, {"norm.mean", {4}, 4, true}};
}

TEST(ModelTest, TakesModels) {
  EXPECT_TRUE(CheckModel(SmallModel()).ok());
  EXPECT_TRUE(CheckModel({{"one", {}, 1, false}}).ok());
  EXPECT_TRUE(
      CheckModel({{"all", {int64_t{1} << 38}, int64_t{1} << 38, false}}).ok());
}

TEST(ModelTest, CountsItsElements) {
  const WorkerModel model{SmallModel(), 100};
  EXPECT_EQ(model.Elements(), 44);
  EXPECT_EQ(model.Parameters(), 40);
}

TEST(ModelTest, TrainersAgreeOnModelAndDataEvaluatorsOnTheModel) {
  const WorkerModel agreed{SmallModel(), 100};
  WorkerModel other = agreed;
  EXPECT_TRUE(CheckAgreement(agreed, other, /*trainer=*/true).ok());
  other.train_samples = 99;
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckAgreement(agreed, other, true)));
  EXPECT_TRUE(CheckAgreement(agreed, other, /*trainer=*/false).ok());
  other.tensors[0].shape = {4, 10};
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckAgreement(agreed, other, false)));
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
      }};
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
