#ifndef PACELINE_COMMON_JOB_BATCHED_PARADIGM_H_
#define PACELINE_COMMON_JOB_BATCHED_PARADIGM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/job/paradigm_spec.h"

namespace paceline {

// A paradigm and how batches are divided under it.
struct BatchedParadigm {
  ParadigmSpec paradigm;
  Batching batching = Batching::kEven;
};

// Reads "bsp,batching=balanced"; without that part behind, the batches are
// even. The errors are those of ParseParadigm() and ParseBatching().
absl::StatusOr<BatchedParadigm> ParseBatchedParadigm(absl::string_view text);

// In full, so that it can be read; even batches are not named.
std::string FormatBatchedParadigm(const BatchedParadigm& of);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_BATCHED_PARADIGM_H_
