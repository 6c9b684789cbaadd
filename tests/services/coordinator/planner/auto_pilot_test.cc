#include "services/coordinator/planner/auto_pilot.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/planner/measured_workers.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// The best for workers that differ for good. What a cut costs is not known, so
// stealing is nearly as good.
constexpr char kBalanced[] = "bsp,batching=balanced";
constexpr char kSteal[] = "bsp:steal=true,pieces=16";

// A job whose speed under each paradigm is as foreseen, times a factor.
class Job {
 public:
  explicit Job(std::vector<MeasuredWorker> workers) {
    seen_.job.batch_size = kBatch;
    seen_.present = *ParseParadigm("bsp");
    usual_ = std::move(workers);
    seen_.workers = usual_;
  }

  AutoPilot::Look Look(bool acts = true) {
    const AutoPilot::Look look = pilot_.LookAt(seen_, acts);
    if (look.to.has_value()) {
      seen_.present = look.to->paradigm;
      seen_.job.batching = look.to->batching;
      ++switches_;
    }
    return look;
  }
  // In so much time its workers report iterations, all as long as its speed
  // makes them.
  void Train(double seconds) {
    const std::string present = this->present();
    double speed = Play(seen_.present, seen_.job, Usual()).samples_per_second;
    if (present == wrong_) speed *= factor_;
    const double each = static_cast<double>(usual_.size()) * kBatch / speed;
    for (double at = seen_.seconds + each; at <= seen_.seconds + seconds;
         at += each) {
      for (size_t i = 0; i < usual_.size(); ++i) {
        std::vector<MeasuredIteration>& its = seen_.workers[i].iterations;
        its.erase(its.begin());
        its.push_back(
            usual_[i].iterations[next_ % usual_[i].iterations.size()]);
        its.back().at = at;
      }
      ++next_;
    }
    seen_.seconds += seconds;
    if (present == wrong_) seconds_wrong_ += seconds;
  }
  // Looks as often as it wants to for so long.
  void TrainAndLook(double seconds) {
    const double until = seen_.seconds + seconds;
    while (seen_.seconds < until) Train(Look().again_after);
  }
  void IsReally(const std::string& paradigm, double factor) {
    wrong_ = paradigm;
    factor_ = factor;
  }

  AutoPilot::Seen& seen() { return seen_; }
  AutoPilot& pilot() { return pilot_; }
  std::string present() const {
    return FormatBatchedParadigm({seen_.present, seen_.job.batching});
  }
  int switches() const { return switches_; }
  double seconds_wrong() const { return seconds_wrong_; }

 private:
  const std::vector<MeasuredWorker>& Usual() const { return usual_; }

  AutoPilot pilot_;
  AutoPilot::Seen seen_;
  std::vector<MeasuredWorker> usual_;  // As they are.
  size_t next_ = 0;                    // Of their iterations.
  std::string wrong_;
  double factor_ = 1;
  int switches_ = 0;
  double seconds_wrong_ = 0;
};

const std::vector<double> kQuarterSlow = {1, 1, 1, 1, 1, 1, 4, 4};

struct AdvisedFor {
  std::string name;
  std::vector<double> seconds;
  Scatter scatter;
  std::string advised;  // How it begins.
};

class AdviceTest : public testing::TestWithParam<AdvisedFor> {};

TEST_P(AdviceTest, SuitsTheWorkers) {
  Job job(Measured(GetParam().seconds, GetParam().scatter));
  const AutoPilot::Look look = job.Look();
  const std::string& wanted = GetParam().advised;
  if (wanted.back() == ':') {  // With one parameter or another.
    EXPECT_THAT(look.advised, StartsWith(wanted)) << look.why;
  } else {
    EXPECT_EQ(look.advised, wanted) << look.why;
  }
  // The best is first, and the present one is among them.
  for (size_t i = 1; i < look.options.size(); ++i) {
    EXPECT_GE(look.options[i - 1].value, look.options[i].value);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , AdviceTest,
    testing::Values(
        AdvisedFor{"Equal", std::vector<double>(8, 1), Scatter::kNone, "bsp"},
        AdvisedFor{"TwoSlow", kQuarterSlow, Scatter::kNone, kBalanced},
        AdvisedFor{"FourSpeeds",
                   {1, 1, 1.3, 1.3, 1.7, 1.7, 2.9, 2.9},
                   Scatter::kNone,
                   kBalanced},
        AdvisedFor{"WithoutMemory", std::vector<double>(8, 1),
                   Scatter::kExponential, "kbatchsync:"},
        AdvisedFor{"Alone", {1}, Scatter::kNone, "bsp"}),
    [](const auto& of) { return of.param.name; });

TEST(AutoPilotTest, WaitsUntilEverybodyIsMeasured) {
  auto workers = Measured(kQuarterSlow);
  workers[6].iterations.resize(1);
  Job job(workers);
  const AutoPilot::Look look = job.Look();
  EXPECT_THAT(look.options, IsEmpty());
  EXPECT_FALSE(look.to.has_value());
  EXPECT_THAT(look.why, HasSubstr("w6"));
}

// Measured so often, which is too rarely to choose.
std::vector<MeasuredWorker> Hardly(const std::vector<double>& seconds,
                                   size_t iterations) {
  auto workers = Measured(seconds);
  for (MeasuredWorker& worker : workers) worker.iterations.resize(iterations);
  return workers;
}

TEST(AutoPilotTest, NobodyIsWaitedForUntilEverybodyIsMeasured) {
  Job job(Hardly(kQuarterSlow, 2));
  EXPECT_FALSE(job.Look(/*acts=*/false).to.has_value());
  const AutoPilot::Look look = job.Look();
  EXPECT_THAT(look.why, HasSubstr("by the first iterations"));
  EXPECT_THAT(job.present(), StartsWith("kbatchsync:k=6"));
  EXPECT_GT(look.gain, 2);
  // A small gain is enough to leave that.
  job.seen().workers = Measured(kQuarterSlow);
  EXPECT_EQ(job.Look().advised, kBalanced);
  EXPECT_EQ(job.switches(), 2);
}

TEST(AutoPilotTest, FirstIterationsMayMislead) {
  const auto equal = Measured(std::vector<double>(8, 1));
  Job job(equal);
  job.seen().workers = Hardly({1, 1, 1, 1, 1, 1, 1, 2}, 3);
  ASSERT_TRUE(job.Look().to.has_value());
  job.seen().workers = equal;
  job.Look();
  EXPECT_EQ(job.present(), "bsp");
  job.TrainAndLook(1000);
  EXPECT_EQ(job.switches(), 2);
}

TEST(AutoPilotTest, IsNotEarlyWithoutReason) {
  for (const auto& workers :
       {Hardly(std::vector<double>(8, 1), 3), Hardly(kQuarterSlow, 1),
        Hardly({1, 1.05, 0.95, 1.1, 1, 0.9, 1, 1}, 2), Hardly({1, 4}, 2)}) {
    EXPECT_FALSE(Job(workers).Look().to.has_value());
  }
  // The first iteration of a program is often longer.
  Job warming_up(Hardly(std::vector<double>(8, 1), 3));
  warming_up.seen().workers[3].iterations[0].compute = absl::Seconds(9);
  EXPECT_FALSE(warming_up.Look().to.has_value());
  Job ends(Hardly(kQuarterSlow, 3));
  ends.seen().seconds_left = 10;
  EXPECT_FALSE(ends.Look().to.has_value());
  // Somebody has chosen that.
  Job other(Hardly(kQuarterSlow, 3));
  other.seen().present = *ParseParadigm("ssp:s=3");
  EXPECT_FALSE(other.Look().to.has_value());
  Job noise(Hardly(kQuarterSlow, 3));
  noise.seen().job.ada_scale = true;
  EXPECT_FALSE(noise.Look().to.has_value());
}

// Rounds of the first batches may never let a slow worker finish one.
TEST(AutoPilotTest, WhoIsNeverMeasuredIsWaitedForAgain) {
  Job job(Hardly(kQuarterSlow, 3));
  ASSERT_TRUE(job.Look().to.has_value());
  job.seen().workers = Measured(kQuarterSlow);
  job.seen().workers[7].iterations.clear();
  // It has taken the place of the one before.
  job.seen().workers[7].name = "w8";
  EXPECT_FALSE(job.Look().to.has_value());
  job.seen().seconds += 200;
  EXPECT_FALSE(job.Look(/*acts=*/false).to.has_value());
  const AutoPilot::Look look = job.Look();
  EXPECT_EQ(job.present(), "bsp");
  EXPECT_THAT(look.why, HasSubstr("w8 is not measured yet"));
  job.seen().seconds += 200;
  EXPECT_FALSE(job.Look().to.has_value()) << "there it will be";
}

TEST(AutoPilotTest, IsEarlyOnlyInTheBeginning) {
  Job job(Measured(std::vector<double>(8, 1)));
  EXPECT_FALSE(job.Look().to.has_value());
  job.seen().workers = Hardly(kQuarterSlow, 3);
  EXPECT_FALSE(job.Look().to.has_value());
}

TEST(AutoPilotTest, AnEarlyChoiceThatIsRefusedIsNotMadeAgain) {
  Job job(Hardly(kQuarterSlow, 3));
  const AutoPilot::Seen before = job.seen();
  ASSERT_TRUE(job.Look().to.has_value());
  job.seen().present = before.present;
  job.pilot().Refused({before.present}, before.seconds, "no room", 300);
  EXPECT_FALSE(job.Look().to.has_value());
}

TEST(AutoPilotTest, OnlySaysSoUnlessItIsToAct) {
  Job job(Measured(kQuarterSlow));
  const AutoPilot::Look look = job.Look(/*acts=*/false);
  EXPECT_EQ(look.advised, kBalanced);
  EXPECT_GT(look.gain, 2);
  EXPECT_FALSE(look.to.has_value());
}

TEST(AutoPilotTest, ASwitchHasToPay) {
  Job job(Measured(kQuarterSlow));
  job.seen().seconds_left = 10;
  const AutoPilot::Look look = job.Look();
  EXPECT_FALSE(look.to.has_value());
  EXPECT_EQ(look.options.front().text, kBalanced);
  EXPECT_THAT(look.options.front().excluded, HasSubstr("before a switch"));
}

TEST(AutoPilotTest, APredictionThatHoldsIsKept) {
  Job job(Measured(kQuarterSlow));
  job.TrainAndLook(3000);
  EXPECT_EQ(job.present(), kBalanced);
  EXPECT_EQ(job.switches(), 1);
}

TEST(AutoPilotTest, AWrongPredictionIsTakenBackAndCostsLittle) {
  Job job(Measured(kQuarterSlow));
  // Far below BSP.
  job.IsReally(kBalanced, 0.2);
  job.TrainAndLook(20'000);
  EXPECT_NE(job.present(), kBalanced);
  EXPECT_LT(job.seconds_wrong(), 0.03 * 20'000);
}

// Trains and looks until something else is chosen, or for too long.
AutoPilot::Look UntilItLeaves(Job& job) {
  const std::string present = job.present();
  AutoPilot::Look look;
  for (int i = 0; i < 100 && job.present() == present; ++i) {
    job.Train(5);
    look = job.Look();
  }
  return look;
}

TEST(AutoPilotTest, AFailedTrialLeadsOnToWhatIsBetterThanBefore) {
  Job job(Measured(kQuarterSlow));
  job.IsReally(kBalanced, 0.3);
  ASSERT_EQ(job.Look().advised, kBalanced);
  const AutoPilot::Look look = UntilItLeaves(job);
  EXPECT_EQ(job.present(), kSteal);
  EXPECT_THAT(look.why, HasSubstr("is left again for bsp:steal"));
  // If that cannot be, it is not kept either.
  job.seen().present = *ParseParadigm("bsp");
  job.seen().job.batching = Batching::kBalanced;
  job.pilot().Refused({job.seen().present, Batching::kBalanced},
                      job.seen().seconds, "no room", 300);
  UntilItLeaves(job);
  EXPECT_EQ(job.present(), "bsp");
}

// As if all else on the machine were slower, too: nothing is wrong with it.
TEST(AutoPilotTest, WhatIsSlowerAndStillTheBestIsKept) {
  Job job(Measured(kQuarterSlow));
  job.IsReally(kBalanced, 0.9);
  job.TrainAndLook(3000);
  EXPECT_EQ(job.present(), kBalanced);
}

TEST(AutoPilotTest, WhatIsRefusedIsNotWantedAgainSoon) {
  Job job(Measured(kQuarterSlow));
  const AutoPilot::Seen before = job.seen();
  ASSERT_EQ(job.Look().advised, kBalanced);
  job.seen().present = before.present;
  job.seen().job.batching = before.job.batching;
  job.pilot().Refused({before.present}, before.seconds, "no room", 300);
  const AutoPilot::Look look = job.Look();
  EXPECT_NE(look.advised, kBalanced);
  EXPECT_THAT(look.options.front().excluded, HasSubstr("no room"));
}

// People have the last word.
TEST(AutoPilotTest, ASwitchByOthersIsTheNewBeginning) {
  Job job(Measured(kQuarterSlow));
  ASSERT_EQ(job.Look().advised, kBalanced);
  job.Train(30);
  job.seen().present = *ParseParadigm("asp");
  job.seen().job.batching = Batching::kEven;
  job.Train(30);
  const AutoPilot::Look look = job.Look(/*acts=*/false);
  EXPECT_THAT(look.why, HasSubstr("at present asp"));
}

// As after a pause: nobody knows any more what its paradigm was before.
TEST(AutoPilotTest, AJobThatIsTakenOverWhileItCutsBeginsAnew) {
  auto workers = Measured(kQuarterSlow);
  for (MeasuredWorker& worker : workers) {
    for (MeasuredIteration& it : worker.iterations) it.micro_batches = 6;
  }
  Job job(workers);
  job.seen().present = *ParseParadigm(kSteal);
  const AutoPilot::Look look = job.Look();
  EXPECT_EQ(look.advised, "bsp");
  EXPECT_TRUE(look.to.has_value());
  // Who is only advised trains on.
  Job advised(workers);
  advised.seen().present = *ParseParadigm(kSteal);
  EXPECT_EQ(advised.Look(/*acts=*/false).advised, kSteal);
}

TEST(AutoPilotTest, AJobThatIsTakenOverUnderABadParadigmLeavesIt) {
  Job job(Measured(kQuarterSlow));
  job.seen().present = *ParseParadigm("cgp");
  job.IsReally(FormatParadigm(job.seen().present), 0.2);
  job.TrainAndLook(1000);
  EXPECT_THAT(job.present(), Not(StartsWith("cgp")));
}

// Rounds have no gain before, and only rounds show it.
TEST(AutoPilotTest, ARateThatFollowsTheNoiseNeedsTheNoise) {
  Job job(Measured({1, 1, 1, 4}));
  job.seen().job.ada_scale = true;
  AutoPilot::Look look = job.Look();
  EXPECT_FALSE(look.to.has_value());
  EXPECT_THAT(look.why, HasSubstr("noise of the gradients is not known"));
  job.seen().present = *ParseParadigm("asp");
  EXPECT_FALSE(job.Look(/*acts=*/false).to.has_value());
  look = job.Look();
  ASSERT_TRUE(look.to.has_value());
  EXPECT_EQ(FormatParadigm(look.to->paradigm), "bsp");
  job.seen().job.noise = 100;
  EXPECT_THAT(job.Look().options, Not(IsEmpty()));
}

// Its trial begins when it has taken over, and nothing is chosen before.
TEST(AutoPilotTest, WhatWaitsForAClosingIsNotMeasuredYet) {
  Job job(Measured(kQuarterSlow));
  job.IsReally(kBalanced, 0.3);
  ASSERT_TRUE(job.Look().to.has_value());
  ASSERT_EQ(job.present(), kBalanced);
  job.seen().switching = true;
  for (int i = 0; i < 50; ++i) {
    job.Train(10);
    const AutoPilot::Look look = job.Look();
    EXPECT_FALSE(look.to.has_value());
    EXPECT_EQ(look.advised, kBalanced);
    EXPECT_LE(look.again_after, 1);
  }
  job.seen().switching = false;
  EXPECT_THAT(job.Look().why, HasSubstr("its prediction is being checked"));
  job.TrainAndLook(200);
  EXPECT_NE(job.present(), kBalanced);
}

TEST(AutoPilotTest, TheNoiseDecidesWhatLargeRoundsAreWorth) {
  const auto choice = [](double noise) {
    Job job(Measured(std::vector<double>(8, 1.0), Scatter::kExponential));
    job.seen().job.ada_scale = true;
    job.seen().job.noise = noise;
    job.TrainAndLook(500);
    return job.present();
  };
  const std::string quiet = choice(0);
  const std::string noisy = choice(1000);
  EXPECT_NE(quiet, noisy);
  EXPECT_THAT(quiet, StartsWith("asp")) << "an update needs no second batch";
}

TEST(AutoPilotTest, TimesOfDaysCanBePlayed) {
  auto workers = Measured(kQuarterSlow);
  for (MeasuredWorker& worker : workers) {
    for (MeasuredIteration& it : worker.iterations) {
      it.compute = absl::Hours(24);
      it.samples = 1;
    }
  }
  Job job(workers);
  EXPECT_GT(job.Look().options.front().value, 0);
}

}  // namespace
}  // namespace paceline
