#include "services/coordinator/sync/core/sample_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/permutation.h"
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

SampleDealer StaticDealer(uint32_t samples, uint32_t epochs, uint32_t batch,
                          std::vector<WorkerId> workers = {kA, kB, kC}) {
  SampleDealer dealer(samples, epochs, batch, DataAssignment::kStatic);
  dealer.Begin(workers);
  return dealer;
}

std::vector<SampleRange> DealAll(SampleDealer& dealer, uint32_t size,
                                 WorkerId worker) {
  std::vector<SampleRange> ranges;
  while (const std::optional<SampleRange> range = dealer.Deal(size, worker)) {
    ranges.push_back(*range);
  }
  return ranges;
}

TEST(SamplePartsTest, EachTrainsItsOwnAtItsOwnPace) {
  SampleDealer dealer = StaticDealer(10, 2, 4);
  // All of its epochs, while the others have not begun.
  EXPECT_THAT(DealAll(dealer, 3, kA),
              ElementsAre(SampleRange{0, 0, 3, 3}, SampleRange{0, 3, 4, 3},
                          SampleRange{1, 0, 3, 3}, SampleRange{1, 3, 4, 3}));
  EXPECT_FALSE(dealer.HasFor(kA));
  EXPECT_TRUE(dealer.HasFor(kB));
  EXPECT_THAT(DealAll(dealer, 4, kC),
              ElementsAre(SampleRange{0, 7, 10, 3}, SampleRange{1, 7, 10, 3}));
  EXPECT_THAT(DealAll(dealer, 4, kB),
              ElementsAre(SampleRange{0, 4, 7, 3}, SampleRange{1, 4, 7, 3}));
  EXPECT_EQ(dealer.samples_total(), 20);
  EXPECT_EQ(dealer.SamplesLeft(), 0);
  EXPECT_FALSE(dealer.done());
}

TEST(SamplePartsTest, WhatComesBackIsItsWorkersAgain) {
  SampleDealer dealer = StaticDealer(9, 2, 3);
  const SampleRange a = *dealer.Deal(3, kA);
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{1, 0, 3, 3}));
  dealer.Count(a, 1);
  EXPECT_TRUE(dealer.TakeNews());
  EXPECT_EQ(dealer.Deal(3, kB), (SampleRange{0, 3, 6, 3}));
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{0, 1, 3, 3}));
  EXPECT_FALSE(dealer.TakeNews());
}

TEST(SamplePartsTest, WhatALostWorkerLeavesIsForWhoComesToThatEpoch) {
  SampleDealer dealer = StaticDealer(9, 3, 3);
  const SampleRange lost = *dealer.Deal(3, kC);
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{0, 0, 3, 3}));
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{1, 0, 3, 3}));
  dealer.Leave(kC);
  // Its part of the second epoch is older than A's next one, that of the first
  // is still outstanding.
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{1, 6, 9, 3}));
  dealer.Return(lost);
  // Its own first, in an epoch.
  EXPECT_EQ(dealer.Deal(3, kB), (SampleRange{0, 3, 6, 3}));
  EXPECT_EQ(dealer.Deal(3, kB), lost);
  // The third epoch has two parts.
  EXPECT_THAT(DealAll(dealer, 9, kA), ElementsAre(SampleRange{2, 0, 5, 2}));
  EXPECT_THAT(DealAll(dealer, 9, kB),
              ElementsAre(SampleRange{1, 3, 6, 3}, SampleRange{2, 5, 9, 2}));
}

TEST(SamplePartsTest, WhoJoinsHasAPartOfWhatBeginsLater) {
  SampleDealer dealer = StaticDealer(12, 2, 6, {kA, kB});
  EXPECT_EQ(dealer.Deal(6, kA), (SampleRange{0, 0, 6, 2}));
  dealer.Join(kC);
  EXPECT_EQ(dealer.Deal(6, kC), (SampleRange{1, 8, 12, 3}));
  EXPECT_EQ(dealer.Deal(6, kC), std::nullopt);
  EXPECT_EQ(dealer.Deal(6, kA), (SampleRange{1, 0, 4, 3}));
}

TEST(SamplePartsTest, MoreWorkersThanSamplesAreNotAllNeeded) {
  SampleDealer dealer = StaticDealer(2, 2, 1);
  EXPECT_EQ(dealer.Deal(1, kC), std::nullopt);
  EXPECT_FALSE(dealer.HasFor(kC));
  EXPECT_EQ(dealer.Deal(1, kB), (SampleRange{0, 1, 2, 2}));
  dealer.Leave(kA);
  EXPECT_TRUE(dealer.TakeNews());
  EXPECT_EQ(dealer.Deal(1, kC), (SampleRange{0, 0, 1, 2}));
  EXPECT_EQ(dealer.Deal(1, kC), (SampleRange{1, 1, 2, 2}));
}

TEST(SamplePartsTest, ALimitIsTheSameShareOfEachPart) {
  SampleDealer dealer = StaticDealer(10, 1, 4);
  dealer.SetLimit(15);
  EXPECT_EQ(dealer.samples_total(), 15);
  EXPECT_THAT(DealAll(dealer, 10, kA),
              ElementsAre(SampleRange{0, 0, 4, 3}, SampleRange{1, 0, 2, 3}));
  EXPECT_THAT(DealAll(dealer, 10, kB),
              ElementsAre(SampleRange{0, 4, 7, 3}, SampleRange{1, 4, 6, 3}));
  EXPECT_THAT(DealAll(dealer, 10, kC),
              ElementsAre(SampleRange{0, 7, 10, 3}, SampleRange{1, 7, 8, 3}));
  // The rest is open in a position, and wanted once the limit is raised.
  EXPECT_EQ(SamplesCounted(dealer.Position(), 10), 0);
  dealer.SetLimit(20);
  EXPECT_EQ(dealer.samples_total(), 20);
  EXPECT_THAT(DealAll(dealer, 10, kC), ElementsAre(SampleRange{1, 8, 10, 3}));
}

TEST(SamplePartsTest, ALowerLimitLeavesWhatWasTakenBeyond) {
  SampleDealer dealer = StaticDealer(9, 3, 3);
  const std::vector<SampleRange> ahead = DealAll(dealer, 3, kA);
  dealer.SetLimit(9);
  EXPECT_EQ(dealer.samples_total(), 9 + 6);
  for (const SampleRange& range : ahead) dealer.Count(range, 2);
  // What comes back of the first epoch is wanted, of the others it is not.
  EXPECT_THAT(DealAll(dealer, 3, kA), ElementsAre(SampleRange{0, 2, 3, 3}));
  EXPECT_EQ(dealer.samples_total(), 9 + 4);
}

TEST(SamplePartsTest, ReservedSamplesOfOthersAreNotTaken) {
  SampleDealer dealer = StaticDealer(9, 1, 1);
  dealer.Reserve(kB, 1, 3, 100);
  EXPECT_THAT(DealAll(dealer, 3, kA), ElementsAre(SampleRange{0, 0, 3, 3}));
  EXPECT_THAT(dealer.TakeWithdrawn(), IsEmpty());
  EXPECT_EQ(dealer.ReservedFor(kB), 3);
  dealer.Leave(kB);
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{0, 3, 6, 3}));
}

TEST(SamplePartsTest, DoubtfulSamplesAreDealtToAnother) {
  SampleDealer dealer = StaticDealer(9, 2, 3);
  const SampleRange bad = *dealer.Deal(3, kA);
  EXPECT_FALSE(dealer.Doubt(bad, kA));
  EXPECT_TRUE(dealer.TakeNews());
  EXPECT_EQ(dealer.samples_total(), 18);
  EXPECT_EQ(dealer.Deal(3, kA), (SampleRange{1, 0, 3, 3}));
  EXPECT_EQ(dealer.Deal(3, kB), bad);
}

TEST(SamplePartsTest, GoOnWhereAPositionHasLeftThem) {
  SampleDealer before = StaticDealer(9, 2, 3);
  before.Count(*before.Deal(3, kA), 3);
  before.Count(*before.Deal(3, kA), 1);
  before.Deal(3, kB);
  const SamplePosition position = before.Position();
  ASSERT_TRUE(CheckPosition(position, 9).ok());
  EXPECT_EQ(position.next_epoch, 2u);
  EXPECT_EQ(SamplesCounted(position, 9), 4);
  const auto resumed = [&](std::vector<WorkerId> workers) {
    SampleDealer dealer(9, 2, 3, DataAssignment::kStatic);
    dealer.StartAt(position);
    dealer.Begin(workers);
    EXPECT_EQ(dealer.samples_total(), 18);
    EXPECT_EQ(dealer.samples_counted(), 4);
    return dealer;
  };
  // With as many workers, each has the part that the one in its place had.
  SampleDealer three = resumed({WorkerId{5}, WorkerId{7}, WorkerId{9}});
  EXPECT_THAT(DealAll(three, 3, WorkerId{5}),
              ElementsAre(SampleRange{1, 1, 3, 3}));
  EXPECT_THAT(DealAll(three, 3, WorkerId{7}),
              ElementsAre(SampleRange{0, 3, 6, 3}, SampleRange{1, 3, 6, 3}));
  // With one the rest of the parts is nobody's.
  SampleDealer one = resumed({WorkerId{5}});
  EXPECT_THAT(DealAll(one, 3, WorkerId{5}),
              ElementsAre(SampleRange{0, 3, 6, 3}, SampleRange{0, 6, 9, 3},
                          SampleRange{1, 1, 3, 3}, SampleRange{1, 3, 6, 3},
                          SampleRange{1, 6, 9, 3}));
}

TEST(SamplePartsTest, APositionWithoutPartsIsNobodys) {
  SampleDealer dealer(10, 2, 5, DataAssignment::kStatic);
  dealer.StartAt({0, 4, {{0, 0, 2}}});
  dealer.Begin({kA, kB});
  EXPECT_EQ(dealer.samples_counted(), 2);
  EXPECT_EQ(dealer.Deal(5, kB), (SampleRange{0, 0, 2}));
  EXPECT_EQ(dealer.Deal(6, kA), (SampleRange{0, 4, 10}));
  EXPECT_EQ(dealer.Deal(5, kB), (SampleRange{1, 5, 10, 2}));
}

TEST(SamplePartsTest, APositionHasOneDivisionOfAnEpoch) {
  EXPECT_TRUE(CheckPosition({1, 0, {{0, 0, 2, 3}, {0, 2, 4, 3}}, 0}, 10).ok());
  EXPECT_FALSE(CheckPosition({1, 0, {{0, 0, 2, 3}, {0, 2, 4, 2}}, 0}, 10).ok());
  EXPECT_FALSE(CheckPosition({1, 0, {{0, 0, 2, 11}}, 0}, 10).ok());
}

// Workers that come and go at random, and take, push and doubt samples.
class DrawnWorkers {
 public:
  explicit DrawnWorkers(uint64_t seed) : rng_(seed) {
    for (uint64_t i = 1 + rng_.Below(5); i > 0; --i) {
      live_.push_back(WorkerId{next_++});
    }
    dealer_.Begin(live_);
  }

  void Step() {
    const size_t which = rng_.Below(live_.size());
    if (rng_.Chance(1, 40)) {
      live_.push_back(WorkerId{next_});
      dealer_.Join(WorkerId{next_++});
    } else if (rng_.Chance(1, 40) && live_.size() > 1) {
      Leave(live_[which]);
    } else if (rng_.Chance(1, 2) || out_.empty()) {
      TakeSome(live_[which]);
    } else {
      Finish(rng_.Below(out_.size()));
    }
  }

  const SampleDealer& dealer() const { return dealer_; }
  int64_t samples() const { return int64_t{samples_} * epochs_; }
  // How often each sample was counted, by epoch and position.
  const std::map<std::pair<uint32_t, uint32_t>, int>& counted() const {
    return counted_;
  }

 private:
  void Leave(WorkerId worker) {
    dealer_.Leave(worker);
    std::erase(live_, worker);
    for (const auto& [whose, range] : out_) {
      if (whose == worker) dealer_.Return(range);
    }
    std::erase_if(out_, [&](const auto& o) { return o.first == worker; });
  }

  void TakeSome(WorkerId worker) {
    const auto size = static_cast<uint32_t>(1 + rng_.Below(9));
    if (rng_.Chance(1, 3)) dealer_.Reserve(worker, size, 12, 1000);
    auto range = dealer_.Cut(worker, size, 1);
    if (!range) range = dealer_.Deal(size, worker);
    if (range) out_.emplace_back(worker, *range);
  }

  void Finish(size_t which) {
    const auto [worker, range] = out_[which];
    out_.erase(out_.begin() + static_cast<std::ptrdiff_t>(which));
    auto used = static_cast<uint32_t>(rng_.Below(range.size() + 1));
    if (rng_.Chance(1, 10)) {
      used = dealer_.Doubt(range, worker) ? range.size() : 0;
    } else {
      dealer_.Count(range, used);
    }
    for (uint32_t i = 0; i < used; ++i) {
      ++counted_[{range.epoch, range.begin + i}];
    }
  }

  Rng rng_;
  const uint32_t samples_ = static_cast<uint32_t>(1 + rng_.Below(60));
  const uint32_t epochs_ = static_cast<uint32_t>(1 + rng_.Below(5));
  SampleDealer dealer_{samples_, epochs_, 4, DataAssignment::kStatic};
  std::vector<WorkerId> live_;
  uint32_t next_ = 0;
  std::vector<std::pair<WorkerId, SampleRange>> out_;
  std::map<std::pair<uint32_t, uint32_t>, int> counted_;
};

// Deaths, joins, short pushes, lots and doubts.
TEST(SamplePartsTest, CountEverySampleOnceForEverySeed) {
  const Seeds seeds(SeedCount(3000));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    DrawnWorkers workers(seed);
    for (int i = 0; i < 100'000 && !workers.dealer().done(); ++i) {
      workers.Step();
      ASSERT_EQ(workers.dealer().samples_total(), workers.samples()) << seed;
    }
    ASSERT_TRUE(workers.dealer().done()) << seed;
    ASSERT_EQ(static_cast<int64_t>(workers.counted().size()), workers.samples())
        << seed;
    for (const auto& [sample, times] : workers.counted()) {
      ASSERT_EQ(times, 1) << seed;
    }
  }
}

}  // namespace
}  // namespace paceline
