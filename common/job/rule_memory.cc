#include "common/job/rule_memory.h"

#include <algorithm>
#include <variant>

#include "common/overloaded.h"
#include "common/round_limit.h"

namespace paceline {
namespace {

// Of those that begin rounds where they like, so many may be open.
uint32_t AtWill(int64_t workers) {
  return static_cast<uint32_t>(
      std::min(workers, static_cast<int64_t>(kMaxOpenRounds) - 2));
}

uint32_t RoundsOf(const PlainParadigm& paradigm, int64_t workers) {
  return std::visit(
      Overloaded{[](const BspOptions& bsp) {
                   return bsp.fill ? uint32_t{2} : uint32_t{1};
                 },
                 [](const KSyncOptions&) { return uint32_t{1}; },
                 [](const ElasticBspOptions&) { return uint32_t{1}; },
                 [](const AbsSgdOptions&) { return uint32_t{2}; },
                 // One may begin before all of its workers' last ones are made.
                 [&](const CgpOptions&) { return AtWill(workers + 1); },
                 [&](const KAsyncOptions&) { return AtWill(workers + 1); },
                 [](const auto&) { return uint32_t{0}; }},
      paradigm.options);
}

RuleMemory MemoryOf(const PlainParadigm& paradigm, int64_t workers) {
  const bool keeps =
      paradigm.staleness.weight == StalenessWeight::kDelayCompensated;
  return {
      .rounds = RoundsOf(paradigm, workers),
      .pulls = keeps ? static_cast<uint32_t>(workers) : 0,
      .means = keeps && paradigm.staleness.mean_square.has_value() ? 1u : 0u};
}

}  // namespace

RuleMemory MemoryOf(const ParadigmSpec& paradigm, int64_t workers) {
  if (const auto* plain = std::get_if<PlainParadigm>(&paradigm.kind)) {
    return MemoryOf(*plain, workers);
  }
  const auto& both = std::get<SyncSwitchOptions>(paradigm.kind);
  const RuleMemory first = MemoryOf(both.first.paradigm, workers);
  const RuleMemory then = MemoryOf(both.then.paradigm, workers);
  // Pushes that are under way when the second one takes over open a round
  // again.
  return {.rounds = first.rounds + then.rounds + 2,
          .pulls = std::max(first.pulls, then.pulls),
          .means = std::max(first.means, then.means)};
}

}  // namespace paceline
