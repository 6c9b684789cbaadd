#include "services/coordinator/sync/core/decision.h"

#include <array>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/common/test_paths.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

constexpr WorkerId kWorker{7};

absl::StatusOr<DecisionKind> KindOf(absl::string_view name) {
  for (const DecisionKind kind : DecisionKinds()) {
    if (NameOf(kind) == name) return kind;
  }
  return Malformed(name);
}

// "wait_for_round 4 1": a decision by its name, and its `a`, `b` and `c`.
absl::StatusOr<Decision> ParseDecision(const Words& words) {
  const absl::StatusOr<DecisionKind> kind = KindOf(words.front());
  if (!kind.ok()) return kind.status();
  std::array<int64_t, 3> numbers{};
  for (size_t i = 1; i < words.size(); ++i) {
    if (!absl::SimpleAtoi(words[i], &numbers.at(i - 1))) {
      return Malformed(words[i]);
    }
  }
  return Decision{*kind, kWorker, numbers[0], numbers[1], numbers[2]};
}

TEST(DecisionTest, EveryKindReadsAsASentence) {
  std::set<DecisionKind> seen;
  CheckScript(TestDataPath("decisions.txt"), [&](const auto& commands) {
    std::string text;
    ExecuteCommands(
        commands,
        [&](const Words& words) {
          const absl::StatusOr<Decision> decision = ParseDecision(words);
          if (!decision.ok()) return decision.status();
          seen.insert(decision->kind);
          absl::StrAppend(&text, Render(*decision), "\n");
          return absl::OkStatus();
        },
        text);
    return text;
  });
  EXPECT_EQ(seen.size(), DecisionKinds().size());
}

TEST(DecisionTest, EveryKindHasItsOwnWords) {
  std::set<std::string> sentences;
  for (const DecisionKind kind : DecisionKinds()) {
    const std::string sentence = Render(Decision{kind, kWorker, 1, 2, 3});
    EXPECT_FALSE(sentence.empty()) << NameOf(kind);
    EXPECT_FALSE(sentence.ends_with('.')) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(sentences.size(), DecisionKinds().size());
}

TEST(DecisionTest, NamesEveryReasonOfALoss) {
  EXPECT_EQ(Render(LossReason::kStreamBroken), "stream broken");
  EXPECT_EQ(Render(LossReason::kLeaseEnded), "lease ended");
  EXPECT_EQ(Render(LossReason::kStuck), "stuck");
  EXPECT_EQ(Render(LossReason::kDeparted), "departed");
  EXPECT_EQ(Render(LossReason::kFailed), "failed");
}

}  // namespace
}  // namespace paceline
