#include "services/worker/data/dataset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/job/names.h"
#include "common/status.h"
#include "services/worker/data/image_files.h"
#include "services/worker/data/normalize.h"
#include "services/worker/data/synthetic.h"

namespace paceline {
namespace {

// What an augment of ParseDataSpec() does to images of 32x32.
struct Augment {
  absl::string_view name;
  int crop;  // As of RawImages.
  MoveRange moves;
};

constexpr Augment kAugments[] = {
    // As is usual for CIFAR (He et al. 2015, section 4.2).
    {.name = kCropFlip, .crop = 0, .moves = {.first = -4, .last = 4}},
    // Each window that lies within the image. The centre is tested.
    {.name = kCrop28Flip, .crop = 28, .moves = {.first = 0, .last = 4}},
};

}  // namespace

absl::StatusOr<Dataset> Dataset::Create(const std::string& name,
                                        RawImages raw) {
  CHECK(raw.normalization.size() == static_cast<size_t>(raw.shape.channels));
  CHECK(raw.crop >= 0 &&
        raw.crop <= std::min(raw.shape.height, raw.shape.width));
  const size_t count = raw.labels.size();
  if (count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": has no images"));
  }
  const auto size = static_cast<size_t>(raw.shape.size());
  if (size == 0 || raw.pixels.size() != count * size) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": ", raw.pixels.size(), " bytes of images do not fit ", count,
        " labels at ", size, " bytes an image"));
  }
  for (size_t i = 0; i < count; ++i) {
    if (raw.labels[i] < raw.classes) continue;
    return absl::DataLossError(absl::StrCat(
        name, ": label ", raw.labels[i], " of image ", i, " is not below ",
        raw.classes, "; the file is damaged or of another kind"));
  }
  return Dataset(std::move(raw));
}

ImageShape Dataset::shape() const {
  if (raw_.crop == 0) return raw_.shape;
  return {raw_.shape.channels, raw_.crop, raw_.crop};
}

void Dataset::Gather(absl::Span<const uint32_t> indices, float* images,
                     uint8_t* labels) const {
  Gather(indices, {}, images, labels);
}

void Dataset::Gather(absl::Span<const uint32_t> indices,
                     absl::Span<const ImageMove> moves, float* images,
                     uint8_t* labels) const {
  CHECK(moves.empty() || moves.size() == indices.size());
  const int64_t size = raw_.shape.size();
  const int64_t plane = size / raw_.shape.channels;
  const ImageShape frame = shape();
  const int64_t written = int64_t{frame.height} * frame.width;
  const ImageMove centre{.down = (raw_.shape.height - frame.height) / 2,
                         .right = (raw_.shape.width - frame.width) / 2};
  for (size_t i = 0; i < indices.size(); ++i) {
    const uint32_t index = indices[i];
    CHECK(index < this->size());
    const uint8_t* from = raw_.pixels.data() + index * size;
    for (const Normalization& channel : raw_.normalization) {
      if (moves.empty() && raw_.crop == 0) {
        Normalize(from, plane, channel, images);
      } else {
        NormalizeMoved(from, raw_.shape, moves.empty() ? centre : moves[i],
                       channel, frame, images);
      }
      from += plane;
      images += written;
    }
    *labels++ = raw_.labels[index];
  }
}

absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split,
                                    const DataPlaces& places) {
  PACELINE_ASSIGN_OR_RETURN(const DataSpec data, ParseDataSpec(spec));
  if (data.kind == kSynthetic) return DrawSynthetic(data.place, split);
  PACELINE_ASSIGN_OR_RETURN(const std::string folder,
                            DataFolder(data.place, places));
  if (data.kind == kMnist) return LoadMnist(folder, split);
  absl::StatusOr<Dataset> images = data.kind == kCifar10
                                       ? LoadCifar10(folder, split)
                                       : LoadCifar100(folder, split);
  for (const Augment& augment : kAugments) {
    if (!images.ok() || augment.name != data.augment) continue;
    images->raw_.crop = augment.crop;
    if (split == Split::kTrain) images->raw_.moves = augment.moves;
  }
  return images;
}

}  // namespace paceline
