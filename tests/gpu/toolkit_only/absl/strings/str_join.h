#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_JOIN_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_JOIN_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace absl {

template <class Range>
std::string StrJoin(const Range& range, const char* between) {
  std::string joined;
  for (const auto& part : range) {
    joined += StrCat(joined.empty() ? "" : between, part);
  }
  return joined;
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_JOIN_H_
