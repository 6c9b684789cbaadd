#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"
#include "tests/services/worker/model/sgd.h"

namespace paceline {
namespace {

struct Trained {
  double accuracy = 0;
  std::vector<float> parameters;
};

// Trains for whole epochs, or for `steps` of the first if that is above 0.
Trained Train(const std::string& data, const std::string& name, int epochs,
              const SgdOptions& options = {}, int steps = 0) {
  const DataPlaces places = {.anywhere = true};
  const auto train = LoadDataset(data, Split::kTrain, places);
  const auto test = LoadDataset(data, Split::kTest, places);
  EXPECT_TRUE(train.ok() && test.ok()) << train.status() << test.status();
  const auto backend = *MakeBackend("cpu");
  const auto model =
      *Model::Create(name, train->shape(), train->classes(), backend.get(), 64);
  EXPECT_TRUE(model->Initialize(1).ok());
  Sgd sgd(*model, *backend, *train, options);
  for (int epoch = 0; epoch < epochs; ++epoch) sgd.TrainEpoch(epoch);
  if (steps > 0) sgd.Train(0, 0, steps);
  Trained trained{Accuracy(*model, *test), {}};
  for (size_t t = 0; t < model->tensors().size(); ++t) {
    const auto values = model->parameter(t);
    trained.parameters.insert(trained.parameters.end(), values.begin(),
                              values.end());
  }
  return trained;
}

// What the embedded set promises.
TEST(TrainingTest, LinearModelsFailOnShapes) {
  EXPECT_LT(Train("synthetic:shapes", "logreg", 3).accuracy, 0.4);
}

TEST(TrainingTest, Lenet5LearnsShapesInOneEpoch) {
  EXPECT_GT(Train("synthetic:shapes", "lenet5", 1).accuracy, 0.97);
}

TEST(TrainingTest, Lenet5LearnsTheTinySet) {
  EXPECT_GT(Train("synthetic:tiny", "lenet5", 6).accuracy, 0.9);
}

// By far not trained; with wrong statistics evaluation would stay at 0.1.
TEST(TrainingTest, Resnet20BeginsToLearnTheTinySet) {
  const SgdOptions options{.rate = 0.05f};
  EXPECT_GT(Train("synthetic:tiny", "resnet20", 0, options, 30).accuracy, 0.2);
}

TEST(TrainingTest, Resnet20V2BeginsToLearnTheTinySet) {
  const SgdOptions options{.rate = 0.05f};
  EXPECT_GT(Train("synthetic:tiny", "resnet20v2", 0, options, 30).accuracy,
            0.2);
}

TEST(TrainingTest, TheSameBitsEveryTime) {
  for (const char* name :
       {"mlp", "lenet5", "alexnet-small", "resnet20", "resnet20v2"}) {
    const auto first = Train("synthetic:tiny", name, 0, {}, /*steps=*/2);
    const auto second = Train("synthetic:tiny", name, 0, {}, /*steps=*/2);
    EXPECT_EQ(first.parameters, second.parameters) << name;
    EXPECT_EQ(first.accuracy, second.accuracy) << name;
  }
}

TEST(TrainingTest, Lenet5ReadsRealDigits) {
  const char* place = std::getenv("PACELINE_DATA");
  const std::string folder =
      absl::StrCat(place == nullptr ? "../shared/data" : place, "/mnist");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no real data in " << folder << "; set PACELINE_DATA";
  }
  EXPECT_GT(
      Train(absl::StrCat("mnist:", folder), "lenet5", 0, {}, 400).accuracy,
      0.93);
}

}  // namespace
}  // namespace paceline
