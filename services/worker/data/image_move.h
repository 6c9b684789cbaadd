#ifndef PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_
#define PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_

#include <cstdint>

#include "common/rng.h"

namespace paceline {

// How an image is moved behind the frame in which a model sees it. What comes
// in from outside has the mean of its channel.
struct ImageMove {
  // Pixel (y, x) of the frame is (y + down, x + right) of the image.
  int down = 0;
  int right = 0;
  bool mirrored = false;  // Afterwards, left and right change places.

  friend bool operator==(const ImageMove&, const ImageMove&) = default;
};

// How far an image can be moved, downwards and to the right alike.
struct MoveRange {
  int first = 0;
  int last = 0;  // Not less than the first.
};

// The move of sample `sample` in epoch `epoch` of a job seeded with `seed`: in
// both directions one of `range`, and mirrored in half of the cases. Whichever
// worker computes the sample, and however often, it is the same.
inline ImageMove DrawMove(const MoveRange& range, uint64_t seed, uint32_t epoch,
                          uint32_t sample) {
  // Other streams of the job's seed order its samples and begin its weights.
  constexpr uint64_t kMoves = 0x6d6f766573;
  Rng rng(DeriveSeed(DeriveSeed(DeriveSeed(seed, kMoves), epoch), sample));
  const auto shift = [&rng, &range] {
    const int moves = range.last - range.first + 1;
    return range.first +
           static_cast<int>(rng.Below(static_cast<uint64_t>(moves)));
  };
  ImageMove move;
  move.down = shift();
  move.right = shift();
  move.mirrored = rng.Chance(1, 2);
  return move;
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_IMAGE_MOVE_H_
