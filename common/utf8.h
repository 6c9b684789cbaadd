#ifndef PACELINE_COMMON_UTF8_H_
#define PACELINE_COMMON_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace paceline {

// A second or further byte of a character.
inline bool ContinuesUtf8(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// The front of a UTF-8 text, at most so many bytes, cut before a character of
// several bytes and never within one.
inline absl::string_view CutUtf8(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && ContinuesUtf8(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_UTF8_H_
