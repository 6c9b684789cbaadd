// PSP between its ends: a sample of nobody is ASP, of all others SSP.

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

// The releases under random pushes and losses, an event a line. All decisions
// are left out: the sentences differ.
std::string ReleasesOf(const std::string& spec, uint64_t seed) {
  Rng rng(seed);
  const auto policy = *MakePolicy(spec);
  std::vector<AdoptedWorker> workers;
  for (uint32_t i = 0; i < 6; ++i) workers.push_back({WorkerId{i}});
  std::string text;
  std::set<WorkerId> computing;
  std::vector<Action> actions;
  const auto note = [&] {
    std::set<WorkerId> released;
    for (const Action& action : actions) {
      const auto* const release = std::get_if<Release>(&action);
      if (release != nullptr) released.insert(release->worker);
    }
    actions.clear();
    for (const WorkerId worker : released) {
      absl::StrAppend(&text, " ", ToNumber(worker));
      EXPECT_TRUE(computing.insert(worker).second);
    }
    absl::StrAppend(&text, "\n");
  };
  policy->Adopt({absl::UnixEpoch()}, workers, RoundId{1}, actions);
  note();
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(computing.empty());
    // The higher the number, the slower.
    auto it = computing.begin();
    while (std::next(it) != computing.end() && rng.Chance(1, 2)) ++it;
    const WorkerId worker = *it;
    computing.erase(it);
    const bool lost = !computing.empty() && rng.Chance(1, 80);
    policy->Apply({absl::UnixEpoch()},
                  lost ? Event(Left{worker}) : Event(PushDone{worker}),
                  actions);
    note();
  }
  return text;
}

TEST(PspTest, ASampleOfNobodyIsAsp) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    ASSERT_EQ(ReleasesOf("psp:beta=0,s=0", seed), ReleasesOf("asp", seed));
  }
}

TEST(PspTest, ASampleOfAllOthersIsSsp) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    for (int s = 0; s < 4; ++s) {
      ASSERT_EQ(ReleasesOf(absl::StrCat("psp:beta=5,s=", s), seed),
                ReleasesOf(absl::StrCat("ssp:s=", s), seed))
          << seed;
    }
  }
}

TEST(PspTest, TheSeedDecides) {
  const auto releases = [](int seed) {
    return ReleasesOf(absl::StrCat("psp:beta=1,s=0,seed=", seed), 5);
  };
  EXPECT_EQ(releases(1), releases(1));
  EXPECT_NE(releases(1), releases(2));
}

}  // namespace
}  // namespace paceline
