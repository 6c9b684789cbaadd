#ifndef PACELINE_SERVICES_PARAMETER_SERVER_MEAN_GRADIENT_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_MEAN_GRADIENT_H_

#include <cmath>
#include <cstdint>
#include <optional>

namespace paceline {

// What a closing has applied to the trained blocks of a shard.
struct MeanGradient {
  uint64_t samples = 0;  // Whose mean it is; 0: the shard has no such block.
  double square = 0;     // The sum of the squares of its elements.

  friend bool operator==(const MeanGradient&, const MeanGradient&) = default;
};

// Adds it up, block by block. Thread-compatible.
class MeanGradientSum {
 public:
  // A trained block has gathered sum(n * u * g) over so many samples, whose
  // elements' squares sum up to that; of no samples: nothing.
  void Add(uint64_t samples, double square_of_sum) {
    const bool fits = first_ || samples == sum_.samples;
    first_ = false;
    const auto of = static_cast<double>(samples);
    sum_.samples = samples;
    sum_.square += square_of_sum / of / of;
    known_ = known_ && fits && samples > 0 && std::isfinite(sum_.square);
  }

  // Nothing if blocks have gathered unlike samples, as they do where a push is
  // lost on its way, or where a block of one is refused.
  std::optional<MeanGradient> Sum() const {
    if (!known_) return std::nullopt;
    return sum_;
  }

 private:
  bool first_ = true;
  bool known_ = true;
  MeanGradient sum_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_MEAN_GRADIENT_H_
