#include "common/rpc/wire_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr absl::string_view kEllipsis = "...";

uint8_t ByteAt(absl::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

bool Continues(absl::string_view text, size_t at) {
  return at < text.size() && (ByteAt(text, at) & 0xc0) == 0x80;
}

// How many bytes the character at the front takes; 0 if there is none (RFC
// 3629: neither longer than needed, nor a surrogate, nor above U+10FFFF).
size_t CharacterSize(absl::string_view text) {
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  const uint8_t second = text.size() > 1 ? ByteAt(text, 1) : 0;
  if (!Continues(text, 1)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (!Continues(text, 2)) return 0;
  if (first == 0xe0) return second >= 0xa0 ? 3 : 0;
  if (first == 0xed) return second <= 0x9f ? 3 : 0;
  if (first >= 0xe1 && first <= 0xef) return 3;
  if (!Continues(text, 3)) return 0;
  if (first == 0xf0) return second >= 0x90 ? 4 : 0;
  if (first == 0xf4) return second <= 0x8f ? 4 : 0;
  return first >= 0xf1 && first <= 0xf3 ? 4 : 0;
}

size_t EncodedSize(absl::string_view text) {
  size_t size = 0;
  for (const char c : text) {
    size += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  }
  return size;
}

}  // namespace

std::string ReplaceInvalidUtf8(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) {
      valid += '?';
    } else {
      absl::StrAppend(&valid, text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return valid;
}

std::string ShortenForHeader(absl::string_view text, size_t max) {
  CHECK(max >= kEllipsis.size());
  if (EncodedSize(text) <= max) return std::string(text);
  size_t room = max - kEllipsis.size();
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t size = CharacterSize(text.substr(kept));
    CHECK(size > 0);
    const size_t encoded = EncodedSize(text.substr(kept, size));
    if (encoded > room) break;
    room -= encoded;
    kept += size;
  }
  return absl::StrCat(text.substr(0, kept), kEllipsis);
}

}  // namespace paceline
