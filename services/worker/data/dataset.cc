#include "services/worker/data/dataset.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/job/names.h"
#include "common/status.h"
#include "services/worker/data/image_files.h"
#include "services/worker/data/normalize.h"
#include "services/worker/data/synthetic.h"

namespace paceline {

absl::StatusOr<Dataset> Dataset::Create(const std::string& name,
                                        RawImages raw) {
  CHECK(raw.normalization.size() == static_cast<size_t>(raw.shape.channels));
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

void Dataset::Gather(absl::Span<const uint32_t> indices, float* images,
                     uint8_t* labels) const {
  const int64_t size = raw_.shape.size();
  const int64_t plane = size / raw_.shape.channels;
  for (const uint32_t index : indices) {
    CHECK(index < this->size());
    const uint8_t* from = raw_.pixels.data() + index * size;
    for (const Normalization& channel : raw_.normalization) {
      Normalize(from, plane, channel, images);
      from += plane;
      images += plane;
    }
    *labels++ = raw_.labels[index];
  }
}

absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split,
                                    const DataPlaces& places) {
  PACELINE_RETURN_IF_ERROR(CheckDataSpec(spec));
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  if (parts.first == kSynthetic) return DrawSynthetic(parts.second, split);
  PACELINE_ASSIGN_OR_RETURN(const std::string folder,
                            DataFolder(parts.second, places));
  if (parts.first == kMnist) return LoadMnist(folder, split);
  return parts.first == kCifar10 ? LoadCifar10(folder, split)
                                 : LoadCifar100(folder, split);
}

}  // namespace paceline
