#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_SPLIT_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_SPLIT_H_

#include <utility>

#include "absl/strings/string_view.h"

namespace absl {

struct MaxSplits {
  MaxSplits(char separator, int /*once*/) : at(separator) {}
  char at;
};

// Before and behind the first separator, which may not be there.
inline std::pair<string_view, string_view> StrSplit(string_view text,
                                                    MaxSplits split) {
  const size_t at = text.find(split.at);
  if (at == string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_SPLIT_H_
