#include "services/cli/near_word.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace paceline {
namespace {

// How many letters must be changed to get from one word to the other
// (Levenshtein, "Binary codes capable of correcting deletions, insertions, and
// reversals", 1966).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearWord(absl::string_view typed,
                     const std::vector<std::string>& words) {
  size_t nearest = std::max<size_t>(2, typed.size() / 3) + 1;
  std::string meant;
  for (const std::string& word : words) {
    const size_t distance = EditDistance(typed, word);
    // Nor is a word of which no letter is where it was typed.
    if (distance >= nearest || distance >= std::max(typed.size(), word.size()))
      continue;
    nearest = distance;
    meant = word;
  }
  return meant;
}

}  // namespace paceline
