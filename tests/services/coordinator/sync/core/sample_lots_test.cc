// What SampleDealer reserves for workers that load ahead.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/workers_and_times.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Ranges = std::vector<SampleRange>;
using Withdrawn = SampleDealer::Withdrawn;

constexpr int64_t kAll = 1 << 30;

TEST(SampleLotsTest, AreCutInTheOrderInWhichTheyWereReserved) {
  SampleDealer dealer(100, 1, 10);
  EXPECT_EQ(dealer.Cut(kA, 10, 10), std::nullopt) << "nothing is reserved yet";
  EXPECT_EQ(dealer.Deal(10, kA), (SampleRange{0, 0, 10}));
  EXPECT_THAT(dealer.Reserve(kA, 10, 15, kAll),
              ElementsAre(SampleRange{0, 10, 20}, SampleRange{0, 20, 30}));
  EXPECT_EQ(dealer.Deal(10, kB), (SampleRange{0, 30, 40}));
  EXPECT_THAT(dealer.Reserve(kA, 10, 15, kAll), IsEmpty()) << "it has enough";
  EXPECT_EQ(dealer.Cut(kA, 10, 10), (SampleRange{0, 10, 20}));
  EXPECT_THAT(dealer.Reserve(kA, 10, 15, kAll),
              ElementsAre(SampleRange{0, 40, 50}));
  EXPECT_EQ(dealer.ReservedFor(kA), 20);
  EXPECT_EQ(dealer.ReservedFor(kB), 0);
  EXPECT_EQ(dealer.SamplesLeft(), 50);
  EXPECT_EQ(dealer.RangesLeft(), 7);
  EXPECT_EQ(dealer.outstanding(), 3);
  EXPECT_EQ(dealer.samples_total(), 100);
}

TEST(SampleLotsTest, AreOpenInAPosition) {
  SampleDealer dealer(100, 1, 10);
  dealer.Count(*dealer.Deal(10, kA), 10);
  dealer.Reserve(kA, 10, 20, kAll);
  const SamplePosition position = dealer.Position();
  EXPECT_TRUE(CheckPosition(position, 100).ok());
  EXPECT_EQ(position.next_begin, 30);
  EXPECT_THAT(position.open,
              ElementsAre(SampleRange{0, 10, 20}, SampleRange{0, 20, 30}));
  EXPECT_EQ(SamplesCounted(position, 100), 10);
}

TEST(SampleLotsTest, CrossEpochsInRangesOfTheirOwn) {
  SampleDealer dealer(25, 2, 10);
  EXPECT_THAT(dealer.Reserve(kA, 10, 40, kAll),
              ElementsAre(SampleRange{0, 0, 10}, SampleRange{0, 10, 20},
                          SampleRange{0, 20, 25}, SampleRange{1, 0, 10},
                          SampleRange{1, 10, 20}));
}

TEST(SampleLotsTest, ReturnedSamplesAreReservedFirst) {
  SampleDealer dealer(100, 1, 10);
  const SampleRange first = *dealer.Deal(10, kA);
  dealer.Deal(10, kA);
  dealer.Count(first, 4);
  EXPECT_THAT(dealer.Reserve(kB, 10, 12, kAll),
              ElementsAre(SampleRange{0, 4, 10}, SampleRange{0, 20, 30}));
}

TEST(SampleLotsTest, GiveNoMoreThanIsAllowed) {
  SampleDealer dealer(1000, 1, 10);
  EXPECT_THAT(dealer.Reserve(kA, 10, 100, 29), SizeIs(2));
  EXPECT_THAT(dealer.Reserve(kA, 10, 100, 9), IsEmpty());
  EXPECT_THAT(dealer.Reserve(kB, 1, 500, kAll),
              SizeIs(SampleDealer::kMostReservedAtOnce));
  EXPECT_THAT(dealer.Reserve(kC, 10, 0, kAll), IsEmpty());
}

TEST(SampleLotsTest, WhoMayNotHaveMoreLosesWhatCannotBeCut) {
  SampleDealer dealer(1000, 1, 40);
  dealer.Reserve(kA, 40, 120, kAll);
  // A quarter more will do, else whole pieces downwards.
  EXPECT_EQ(dealer.CutAtMost(kA, 32, 40), (SampleRange{0, 0, 40}));
  EXPECT_EQ(dealer.CutAtMost(kA, 27, 4), (SampleRange{0, 40, 64}));
  EXPECT_EQ(dealer.CutAtMost(kA, 3, 4), std::nullopt);
  EXPECT_EQ(dealer.ReservedFor(kA), 0);
  const auto withdrawn = dealer.TakeWithdrawn();
  ASSERT_EQ(withdrawn.size(), 1u);
  EXPECT_EQ(withdrawn[0].samples, 56);
  EXPECT_EQ(dealer.CutAtMost(kA, 3, 4), std::nullopt);
  // What was withdrawn is dealt first.
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{0, 64, 67}));
}

TEST(SampleLotsTest, ALargeRangeIsCutIntoEqualPartsForWhoHasBecomeSlower) {
  SampleDealer dealer(1000, 1, 40);
  dealer.Reserve(kA, 40, 120, kAll);
  // 40 are 2.5 times 16: two parts.
  EXPECT_EQ(dealer.Cut(kA, 16, 4), (SampleRange{0, 0, 20}));
  EXPECT_EQ(dealer.ReservedFor(kA), 100);
  EXPECT_EQ(dealer.Cut(kA, 16, 4), (SampleRange{0, 20, 40}));
  // 40 are 1.5 times 27: one. Who has become faster gets what there is.
  EXPECT_EQ(dealer.Cut(kA, 27, 4), (SampleRange{0, 40, 80}));
  EXPECT_EQ(dealer.Cut(kA, 200, 4), (SampleRange{0, 80, 120}));
  EXPECT_EQ(dealer.Cut(kA, 40, 4), std::nullopt);
  // In whole pieces: 40 in three are 14, and so 16.
  dealer.Reserve(kA, 40, 40, kAll);
  EXPECT_EQ(dealer.Cut(kA, 13, 8), (SampleRange{0, 120, 136}));
  EXPECT_EQ(dealer.Cut(kA, 13, 8), (SampleRange{0, 136, 152}));
  EXPECT_EQ(dealer.Cut(kA, 13, 8), (SampleRange{0, 152, 160}));
  EXPECT_EQ(dealer.RangesLeft(), 21);
}

TEST(SampleLotsTest, WhoIsGoneGivesItsLotBackWithoutAWord) {
  SampleDealer dealer(100, 1, 10);
  dealer.Reserve(kA, 10, 20, kAll);
  dealer.Deal(10, kB);
  dealer.Leave(kA);
  dealer.Leave(kC);
  EXPECT_THAT(dealer.TakeWithdrawn(), IsEmpty());
  EXPECT_EQ(dealer.ReservedFor(kA), 0);
  EXPECT_EQ(dealer.SamplesLeft(), 90);
  EXPECT_EQ(dealer.Deal(10, kB), (SampleRange{0, 0, 10}));
}

TEST(SampleLotsTest, TheFullestIsWithdrawnWhenNothingElseIsLeft) {
  SampleDealer dealer(60, 1, 10);
  dealer.Reserve(kA, 10, 20, kAll);
  dealer.Reserve(kB, 10, 30, kAll);
  EXPECT_EQ(dealer.Deal(10, kC), (SampleRange{0, 50, 60}));
  EXPECT_THAT(dealer.TakeWithdrawn(), IsEmpty()) << "there was something else";
  EXPECT_EQ(dealer.RangesLeft(), 5);
  EXPECT_EQ(dealer.SamplesLeft(), 0);
  EXPECT_EQ(dealer.Deal(10, kC), (SampleRange{0, 20, 30}));
  EXPECT_THAT(dealer.TakeWithdrawn(), ElementsAre(Withdrawn{kB, 30}));
  EXPECT_THAT(dealer.TakeWithdrawn(), IsEmpty()) << "that was told";
  EXPECT_EQ(dealer.SamplesLeft(), 20);
  // The other lot is as it was.
  EXPECT_EQ(dealer.Cut(kA, 10, 10), (SampleRange{0, 0, 10}));
  EXPECT_EQ(dealer.Cut(kB, 10, 10), std::nullopt);
}

TEST(SampleLotsTest, ASealWithdrawsAllOfThem) {
  SampleDealer dealer(60, 1, 10);
  dealer.Reserve(kA, 10, 20, kAll);
  dealer.Reserve(kC, 10, 20, kAll);
  dealer.Seal();
  EXPECT_THAT(dealer.TakeWithdrawn(),
              ElementsAre(Withdrawn{kA, 20}, Withdrawn{kC, 20}));
  EXPECT_EQ(dealer.Cut(kA, 10, 10), std::nullopt);
  EXPECT_THAT(dealer.Reserve(kA, 10, 20, kAll), IsEmpty());
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.Position().open, (Ranges{{0, 0, 40}}));
}

TEST(SampleLotsTest, BeyondTheLimitNothingIsReserved) {
  SampleDealer dealer(100, 1, 10);
  dealer.SetLimit(25);
  EXPECT_THAT(dealer.Reserve(kA, 10, 80, kAll), SizeIs(3));
  EXPECT_EQ(dealer.samples_total(), 30) << "the last range may go beyond";
}

TEST(SampleLotsTest, ALowerLimitTakesBackWhatWasReservedBeyondIt) {
  SampleDealer dealer(100, 2, 10);
  dealer.Reserve(kA, 10, 20, kAll);  // [0, 20)
  const SampleRange granted = *dealer.Deal(10, kB);
  dealer.Reserve(kB, 10, 20, kAll);  // [30, 50)
  dealer.Reserve(kA, 10, 80, kAll);  // [50, 100) and ten of the next epoch.
  EXPECT_EQ(dealer.samples_total(), 200);
  dealer.SetLimit(35);
  EXPECT_THAT(dealer.TakeWithdrawn(),
              ElementsAre(Withdrawn{kA, 80}, Withdrawn{kB, 20}));
  // [30, 40) began before the limit.
  EXPECT_EQ(dealer.samples_total(), 40);
  EXPECT_EQ(dealer.Position().next_begin, 40);
  EXPECT_EQ(dealer.Position().next_epoch, 0);
  EXPECT_EQ(dealer.Position().open,
            (Ranges{{0, 0, 20}, {0, 20, 30}, {0, 30, 40}}));
  dealer.Count(granted, 10);
  while (const auto range = dealer.Deal(10, kA)) dealer.Count(*range, 10);
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_counted(), 40);
}

TEST(SampleLotsTest, ALowerLimitLeavesWhatWasDealtBehindALot) {
  SampleDealer dealer(100, 1, 10);
  dealer.Reserve(kA, 10, 20, kAll);
  const SampleRange granted = *dealer.Deal(10, kB);
  dealer.SetLimit(5);
  EXPECT_EQ(dealer.samples_total(), 30) << "[20, 30) is computed";
  dealer.Count(granted, 10);
  EXPECT_EQ(dealer.Deal(20, kB), (SampleRange{0, 0, 20}));
}

TEST(SampleLotsTest, AHigherLimitWithdrawsNothing) {
  SampleDealer dealer(100, 1, 10);
  dealer.SetLimit(50);
  dealer.Reserve(kA, 10, 20, kAll);
  dealer.SetLimit(30);
  dealer.SetLimit(80);
  EXPECT_THAT(dealer.TakeWithdrawn(), IsEmpty());
  EXPECT_EQ(dealer.ReservedFor(kA), 20);
}

TEST(SampleLotsTest, DoubtfulSamplesAreReservedForAnotherWorker) {
  SampleDealer dealer(40, 1, 10);
  const SampleRange doubtful = *dealer.Deal(10, kA);
  EXPECT_FALSE(dealer.Doubt(doubtful, kA));
  EXPECT_THAT(dealer.Reserve(kA, 10, 10, kAll),
              ElementsAre(SampleRange{0, 10, 20}))
      << "not for the one who found them so";
  EXPECT_THAT(dealer.Reserve(kB, 10, 10, kAll), ElementsAre(doubtful));
  // The second time it is the samples' fault.
  EXPECT_EQ(dealer.Cut(kB, 10, 10), doubtful);
  EXPECT_TRUE(dealer.Doubt(doubtful, kB));
  EXPECT_EQ(dealer.samples_discarded(), 10);
}

TEST(SampleLotsTest, DoubtfulSamplesStaySoInALotThatIsWithdrawn) {
  SampleDealer dealer(20, 1, 10);
  const SampleRange doubtful = *dealer.Deal(10, kA);
  EXPECT_FALSE(dealer.Doubt(doubtful, kA));
  dealer.Reserve(kB, 10, 20, kAll);
  // Nothing is left but the lot of kB. First what was not doubted.
  EXPECT_EQ(dealer.Deal(10, kA), (SampleRange{0, 10, 20}));
  EXPECT_THAT(dealer.TakeWithdrawn(), ElementsAre(Withdrawn{kB, 20}));
  // There is nothing else: its own.
  EXPECT_EQ(dealer.Deal(10, kA), doubtful);
  EXPECT_TRUE(dealer.Doubt(doubtful, kA));
}

// One job whose workers take, reserve and give back samples in an order drawn
// from a seed, while limits change and workers go.
class RandomLots {
 public:
  explicit RandomLots(uint64_t seed)
      : rng_(seed),
        samples_(static_cast<uint32_t>(1 + rng_.Below(60))),
        batch_(static_cast<uint32_t>(1 + rng_.Below(9))),
        dealer_(samples_, 3, batch_) {}

  void Run() {
    for (int step = 0; !dealer_.done(); ++step) {
      ASSERT_LT(step, 10'000);
      const WorkerId worker{static_cast<uint32_t>(rng_.Below(4))};
      Disturb(step, worker);
      if (rng_.Chance(1, 2) || open_[worker].empty()) {
        Take(worker, static_cast<uint32_t>(1 + rng_.Below(2 * batch_)));
      } else {
        GiveBack(worker);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(static_cast<int64_t>(counted_.size()), dealer_.samples_counted());
    ASSERT_EQ(dealer_.samples_counted(), dealer_.samples_total());
    ASSERT_THAT(dealer_.Position().open, IsEmpty());
  }

 private:
  int64_t Reserved(WorkerId worker) {
    int64_t reserved = 0;
    for (const SampleRange& range : lots_[worker]) reserved += range.size();
    return reserved;
  }

  void HearWithdrawn() {
    for (const Withdrawn& withdrawn : dealer_.TakeWithdrawn()) {
      ASSERT_EQ(withdrawn.samples, Reserved(withdrawn.worker));
      lots_.erase(withdrawn.worker);
    }
  }

  void Disturb(int step, WorkerId worker) {
    if (step < 100 && rng_.Chance(1, 40)) {
      dealer_.SetLimit(static_cast<int64_t>(1 + rng_.Below(3 * samples_)));
    }
    if (rng_.Chance(1, 60)) dealer_.WithdrawAll();
    HearWithdrawn();
    if (rng_.Chance(1, 40)) {
      dealer_.Leave(worker);
      lots_.erase(worker);
    }
  }

  void Take(WorkerId worker, uint32_t size) {
    const bool had = !lots_[worker].empty();
    std::optional<SampleRange> range = dealer_.Cut(worker, size, 2);
    ASSERT_EQ(range.has_value(), had);
    if (had) {
      SampleRange& front = lots_[worker].front();
      ASSERT_EQ(range->begin, front.begin);
      ASSERT_LE(range->end, front.end);
      front.begin = range->end;
      if (front.size() == 0) lots_[worker].pop_front();
    } else {
      range = dealer_.Deal(size, worker);
      HearWithdrawn();
    }
    if (range) open_[worker].push_back(*range);
    for (const SampleRange& more :
         dealer_.Reserve(worker, size, static_cast<int64_t>(rng_.Below(30)),
                         dealer_.SamplesLeft() / 2)) {
      lots_[worker].push_back(more);
    }
    ASSERT_EQ(dealer_.ReservedFor(worker), Reserved(worker));
  }

  void GiveBack(WorkerId worker) {
    const SampleRange range = open_[worker].back();
    open_[worker].pop_back();
    auto used = static_cast<uint32_t>(rng_.Below(range.size() + 1));
    if (!rng_.Chance(1, 8)) {
      dealer_.Count(range, used);
    } else {
      used = dealer_.Doubt(range, worker) ? range.size() : 0;
    }
    for (uint32_t at = range.begin; at < range.begin + used; ++at) {
      ASSERT_TRUE(counted_.insert({range.epoch, at, at + 1}).second);
    }
    const SamplePosition position = dealer_.Position();
    ASSERT_TRUE(CheckPosition(position, samples_).ok());
    ASSERT_EQ(SamplesCounted(position, samples_), dealer_.samples_counted());
  }

  Rng rng_;
  const uint32_t samples_;
  const uint32_t batch_;
  SampleDealer dealer_;
  std::map<WorkerId, Ranges> open_;
  std::map<WorkerId, std::deque<SampleRange>> lots_;
  std::set<SampleRange> counted_;  // One sample each.
};

// In any order, whoever reserves, is gone, and whatever limit comes: a sample
// is with one worker at a time, and counted once.
TEST(SampleLotsTest, EverySampleIsCountedOnceForEverySeed) {
  for (uint64_t seed = 0; seed < SeedCount(3000); ++seed) {
    SCOPED_TRACE(seed);
    RandomLots(seed).Run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace paceline
