#include "common/job/normalization.h"

#include "common/job/names.h"

namespace paceline {

std::vector<Normalization> NormalizationOf(absl::string_view data) {
  const absl::string_view kind = data.substr(0, data.find(':'));
  // The training splits', as everybody uses them.
  if (kind == kMnist) return {{0.1307f, 0.3081f}};
  if (kind == kCifar10) {
    return {{0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}};
  }
  if (kind == kCifar100) {
    return {{0.5071f, 0.2673f}, {0.4865f, 0.2564f}, {0.4409f, 0.2762f}};
  }
  if (kind == kSynthetic) return {{0.5f, 0.25f}};
  return {};
}

}  // namespace paceline
