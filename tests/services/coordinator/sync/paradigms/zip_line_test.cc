#include "services/coordinator/sync/paradigms/zip_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

TEST(ZipLineTest, EqualsTheVector) {  // algorithms.md 5.9, in tenths.
  const BarrierPlan plan = ZipLine({{{10, 20, 30}, {19, 38}}});
  EXPECT_THAT(plan.iterations, ElementsAre(2, 1));
  EXPECT_EQ(plan.waiting, 1);
}

TEST(ZipLineTest, TakesTheEarliestOfEqualOnes) {
  const BarrierPlan plan = ZipLine({{{10, 20, 30}, {20, 40}, {10, 20, 30}}});
  EXPECT_THAT(plan.iterations, ElementsAre(2, 1, 2));
  EXPECT_EQ(plan.waiting, 0);
}

TEST(ZipLineTest, OneWorkerWaitsForNobody) {
  EXPECT_THAT(ZipLine({{{7, 9}}}).iterations, ElementsAre(1));
  EXPECT_THAT(ZipLine({}).iterations, ElementsAre());
}

TEST(ZipLineTest, AFarSlowerWorkerIsMetByTheLastIterations) {
  const BarrierPlan plan = ZipLine({{{1, 2, 3}, {100, 200, 300}}});
  EXPECT_THAT(plan.iterations, ElementsAre(3, 1));
  EXPECT_EQ(plan.waiting, 97);
}

// Every choice of one end for each worker; of the best, the one that is over
// first, with as many iterations as fit.
class EveryChoice {
 public:
  explicit EveryChoice(const std::vector<std::vector<int64_t>>& ends)
      : ends_(ends), choice_(ends.size(), 1) {
    Choose(0);
  }

  int64_t waiting() const { return *waiting_; }
  int64_t over() const { return over_; }
  const std::vector<int64_t>& iterations() const { return best_; }

 private:
  void Choose(size_t worker) {
    if (worker == ends_.size()) {
      Compare();
      return;
    }
    for (size_t i = 1; i <= ends_[worker].size(); ++i) {
      choice_[worker] = static_cast<int64_t>(i);
      Choose(worker + 1);
    }
  }

  void Compare() {
    std::vector<int64_t> at;
    for (size_t i = 0; i < ends_.size(); ++i) {
      at.push_back(ends_[i][static_cast<size_t>(choice_[i]) - 1]);
    }
    const auto [first, last] = std::minmax_element(at.begin(), at.end());
    const int64_t waiting = *last - *first;
    const bool better =
        !waiting_.has_value() || waiting < *waiting_ ||
        (waiting == *waiting_ &&
         (*last < over_ || (*last == over_ && choice_ > best_)));
    if (!better) return;
    waiting_ = waiting;
    over_ = *last;
    best_ = choice_;
  }

  const std::vector<std::vector<int64_t>>& ends_;
  std::vector<int64_t> choice_;
  std::vector<int64_t> best_;
  std::optional<int64_t> waiting_;
  int64_t over_ = 0;
};

TEST(ZipLineTest, EqualsTheBestOfAllChoices) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<std::vector<int64_t>> ends(1 + rng.Below(4));
    for (std::vector<int64_t>& own : ends) {
      int64_t at = 0;
      for (uint64_t left = 1 + rng.Below(6); left > 0; --left) {
        at += static_cast<int64_t>(1 + rng.Below(40));
        own.push_back(at);
      }
    }
    const BarrierPlan plan = ZipLine(ends);
    const EveryChoice best(ends);
    ASSERT_EQ(plan.waiting, best.waiting());
    int64_t over = 0;
    int64_t first = best.over();
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t at = ends[i][static_cast<size_t>(plan.iterations[i]) - 1];
      over = std::max(over, at);
      first = std::min(first, at);
    }
    ASSERT_EQ(over, best.over());
    ASSERT_EQ(over - first, best.waiting());
  }
}

}  // namespace
}  // namespace paceline
