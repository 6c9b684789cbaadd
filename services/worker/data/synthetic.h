#ifndef PACELINE_SERVICES_WORKER_DATA_SYNTHETIC_H_
#define PACELINE_SERVICES_WORKER_DATA_SYNTHETIC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/worker/data/dataset.h"

namespace paceline {

// Draws one split of an embedded set: ten shapes made of strokes (ring,
// square, triangle, plus, cross, two bars lying, two bars standing, slash,
// corner, zigzag), each moved, scaled, of its own thickness, brightness and
// contrast, as often darker than its ground as brighter, under noise. Where a
// pixel is bright says nothing about the class, so a linear model fails;
// LeNet-5 learns them within two epochs.
//
//   shapes        28x28 grey, 12,000 and 2,000 images: the default
//   tiny          the same, 1,024 and 256 images
//   color-shapes  32x32 colour, 12,000 and 2,000 images
//
// The bytes are the same everywhere: integers and a seeded generator only.
// INVALID_ARGUMENT, listing the names, for another one.
absl::StatusOr<Dataset> DrawSynthetic(absl::string_view name, Split split);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_SYNTHETIC_H_
