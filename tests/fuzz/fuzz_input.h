#ifndef PACELINE_TESTS_FUZZ_FUZZ_INPUT_H_
#define PACELINE_TESTS_FUZZ_FUZZ_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace paceline {

// Cuts one input into values, for decoders that take several. Past the end
// everything is 0 or empty, so that every input means something.
class FuzzInput {
 public:
  explicit FuzzInput(absl::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }

  uint8_t Byte() {
    const absl::string_view one = Bytes(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }

  // Little endian.
  template <class Integer>
  Integer Number() {
    Integer value = 0;
    const absl::string_view bytes = Bytes(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  absl::string_view Bytes(size_t most) {
    const absl::string_view bytes = left_.substr(0, most);
    left_.remove_prefix(bytes.size());
    return bytes;
  }

  // What FuzzText() wrote.
  absl::string_view Text() { return Bytes(Number<uint16_t>()); }

  absl::string_view Rest() { return std::exchange(left_, {}); }

 private:
  absl::string_view left_;
};

// For seeds: two bytes of size, then the bytes.
inline std::string FuzzText(absl::string_view text) {
  std::string out(2, '\0');
  const auto size = static_cast<uint16_t>(std::min<size_t>(text.size(), 65535));
  std::memcpy(out.data(), &size, sizeof(size));
  out.append(text.data(), size);
  return out;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_FUZZ_INPUT_H_
