#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STRING_VIEW_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STRING_VIEW_H_

#include <string_view>

namespace absl {
using std::string_view;
}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STRING_VIEW_H_
