#include "services/cli/one_line.h"

#include <cstddef>

#include "absl/strings/ascii.h"

namespace paceline {
namespace {

// U+0080 to U+009F: a terminal may take them for escape sequences.
bool IsC1(absl::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != '\xc2') return false;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  return second >= 0x80 && second < 0xa0;
}

}  // namespace

std::string OneLine(absl::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsC1(text, i)) {
      line += ' ';
      ++i;
    } else {
      const bool control =
          absl::ascii_iscntrl(static_cast<unsigned char>(text[i]));
      line += control ? ' ' : text[i];
    }
  }
  return line;
}

}  // namespace paceline
