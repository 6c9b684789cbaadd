#ifndef PACELINE_SERVICES_WORKER_DATA_DATASET_H_
#define PACELINE_SERVICES_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/job/normalization.h"
#include "services/worker/data/data_folder.h"
#include "services/worker/data/image_move.h"
#include "services/worker/data/image_shape.h"

namespace paceline {

enum class Split { kTrain, kTest };

// Images as they were read.
struct RawImages {
  ImageShape shape;
  int classes = 0;
  std::vector<uint8_t> pixels;               // [n, channels, height, width]
  std::vector<uint8_t> labels;               // [n], below `classes`
  std::vector<Normalization> normalization;  // [channels]
  std::optional<MoveRange> moves;            // See Dataset::moves().
  // The side of the window of an image that is gathered; 0: all of it.
  int crop = 0;
};

// One split of a data set, in memory, as bytes. Immutable, hence thread-safe.
class Dataset {
 public:
  // INVALID_ARGUMENT if there are no images, or sizes do not fit each other;
  // DATA_LOSS for a label that is not below `classes`. `name` leads messages.
  // REQUIRES: a crop is not larger than the images.
  static absl::StatusOr<Dataset> Create(const std::string& name, RawImages raw);

  uint32_t size() const { return static_cast<uint32_t>(raw_.labels.size()); }
  // What Gather() writes of an image.
  ImageShape shape() const;
  int classes() const { return raw_.classes; }
  absl::Span<const uint8_t> labels() const { return raw_.labels; }
  // Of whole images.
  absl::Span<const uint8_t> pixels() const { return raw_.pixels; }

  // By which moves of DrawMove() who trains on these images is to move each of
  // them. Nothing for images that stay, as those of every test split do.
  const std::optional<MoveRange>& moves() const { return raw_.moves; }

  // Writes the normalized images of `indices` to `images` [indices,
  // channels, height, width] and their labels to `labels`. Of images that are
  // cropped it is the centre.  REQUIRES: every index is below size().
  void Gather(absl::Span<const uint32_t> indices, float* images,
              uint8_t* labels) const;

  // The same, each image moved.  REQUIRES: as many moves as indices, or none.
  void Gather(absl::Span<const uint32_t> indices,
              absl::Span<const ImageMove> moves, float* images,
              uint8_t* labels) const;

 private:
  friend absl::StatusOr<Dataset> LoadDataset(absl::string_view spec,
                                             Split split,
                                             const DataPlaces& places);

  explicit Dataset(RawImages raw) : raw_(std::move(raw)) {}

  RawImages raw_;
};

// Loads one split of what a --data flag names. Training images with an augment
// are to be moved; with kCrop28Flip both splits are cropped to 28x28. The
// errors of ParseDataSpec; else as DataFolder, LoadMnist, LoadCifar10,
// LoadCifar100 and DrawSynthetic say.
absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split,
                                    const DataPlaces& places = {});

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_DATASET_H_
