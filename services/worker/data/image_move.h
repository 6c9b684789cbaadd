#ifndef PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_
#define PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_

#include <cstdint>

#include "common/rng.h"

namespace paceline {

// How an image is moved within its frame before a model trains on it. What
// comes in from outside has the mean of its channel.
struct ImageMove {
  // Pixel (y, x) is that of (y + down, x + right) of the original.
  int down = 0;
  int right = 0;
  bool mirrored = false;  // Afterwards, left and right change places.

  friend bool operator==(const ImageMove&, const ImageMove&) = default;
};

// So many pixels around an image can come into the frame.
inline constexpr int kMovePad = 4;

// The move of sample `sample` in epoch `epoch` of a job seeded with `seed`: a
// crop of the padded image, and a mirror image in half of the cases, as is
// usual for CIFAR (He et al. 2015, section 4.2). Whichever worker computes the
// sample, and however often, it is the same.
inline ImageMove DrawMove(uint64_t seed, uint32_t epoch, uint32_t sample) {
  // Other streams of the job's seed order its samples and begin its weights.
  constexpr uint64_t kMoves = 0x6d6f766573;
  Rng rng(DeriveSeed(DeriveSeed(DeriveSeed(seed, kMoves), epoch), sample));
  const auto shift = [&rng] {
    return static_cast<int>(rng.Below(2 * kMovePad + 1)) - kMovePad;
  };
  ImageMove move;
  move.down = shift();
  move.right = shift();
  move.mirrored = rng.Chance(1, 2);
  return move;
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_
