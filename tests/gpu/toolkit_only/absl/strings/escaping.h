#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_ESCAPING_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_ESCAPING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace absl {

inline std::string BytesToHexString(string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_ESCAPING_H_
