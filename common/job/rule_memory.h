#ifndef PACELINE_COMMON_JOB_RULE_MEMORY_H_
#define PACELINE_COMMON_JOB_RULE_MEMORY_H_

#include <cstdint>

#include "common/job/paradigm_spec.h"

namespace paceline {

// What a paradigm makes a parameter server hold at most of its part of a model,
// beside the weights and the optimizer's state.
struct RuleMemory {
  // Sums of rounds that gather, each as large as the weights.
  uint32_t rounds = 0;
  // What workers have pulled, kept for the compensation of their pushes, each
  // as large as the weights with the optimizer's state.
  uint32_t pulls = 0;

  // Running means of squares, for the compensation of pushes, each as large as
  // the weights.
  uint32_t means = 0;

  // The sum, in weights, with so many arrays of the optimizer.
  uint64_t Weights(uint64_t slots) const {
    return rounds + pulls * (1 + slots) + means;
  }
};

// While a switch is under way rounds of both paradigms may be open.
// REQUIRES: workers >= 0.
RuleMemory MemoryOf(const ParadigmSpec& paradigm, int64_t workers);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_RULE_MEMORY_H_
