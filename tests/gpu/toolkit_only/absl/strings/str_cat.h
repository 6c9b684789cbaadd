#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_CAT_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_CAT_H_

#include <sstream>
#include <string>

namespace absl {

template <class... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STR_CAT_H_
