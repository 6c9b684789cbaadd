#ifndef PACELINE_TESTS_GPU_TWIN_CASES_H_
#define PACELINE_TESTS_GPU_TWIN_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/backend.h"

namespace paceline {

// One operation as both twins are to do it: what it reads, and how large what
// it writes is.
struct TwinCase {
  using Run = std::function<void(Backend& backend,
                                 const std::vector<DeviceView>& inputs,
                                 const std::vector<DeviceSpan>& outputs)>;

  std::string name;
  std::vector<std::vector<float>> inputs;
  std::vector<int64_t> outputs;  // Sizes. They hold poison before.
  Run run;
  // The result is linear in its inputs, so that an element may be as wrong as
  // its terms are large: those are what the operation makes of magnitudes.
  bool linear = false;
  // No bit may differ: what is written is no number of its own.
  bool exact = false;
};

// Cases of one kind of operation, at sizes around every boundary: of warps,
// blocks, tiles and chunks.
struct TwinFamily {
  const char* name;
  std::vector<TwinCase> (*cases)();
};

const std::vector<TwinFamily>& TwinFamilies();

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TWIN_CASES_H_
