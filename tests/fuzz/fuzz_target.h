#ifndef PACELINE_TESTS_FUZZ_FUZZ_TARGET_H_
#define PACELINE_TESTS_FUZZ_FUZZ_TARGET_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace paceline {

// What every target defines. Two drivers call it: libFuzzer's, and one that
// runs the seeds and a few mutations of them in every build, so that a target
// cannot rot.

// One input, as it may come from a network or a file. Ends the process, by
// CHECK or a sanitizer, if the decoder does not keep its promises.
void FuzzOne(absl::string_view input);

// Where mutations begin: sound inputs, and some that were of interest.
std::vector<std::string> FuzzSeeds();

// Ends the process unless `status` is OK or has one of the codes that the
// decoder's header names.
inline void ExpectCode(const absl::Status& status,
                       std::initializer_list<absl::StatusCode> codes) {
  if (status.ok() || absl::c_linear_search(codes, status.code())) return;
  std::fprintf(stderr, "not promised: %s\n", status.ToString().c_str());
  std::abort();
}

inline void ExpectInvalidArgument(const absl::Status& status) {
  ExpectCode(status, {absl::StatusCode::kInvalidArgument});
}

inline void ExpectDataLoss(const absl::Status& status) {
  ExpectCode(status, {absl::StatusCode::kDataLoss});
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_FUZZ_TARGET_H_
