#include "tests/services/worker/model/pushed_gradients.h"

#include "absl/strings/str_cat.h"

namespace paceline {

std::string PushedGradientsDiffer(Model& model,
                                  const std::vector<float>& images,
                                  const std::vector<uint8_t>& labels) {
  const int n = static_cast<int>(labels.size());
  const float scale = 1.0f / static_cast<float>(n);
  const size_t tensors = model.tensors().size();
  const auto loss =
      model.ForwardBackward(images.data(), labels.data(), n, scale, true);
  if (!loss.ok()) return std::string(loss.status().message());
  const absl::Status fetched = model.FetchGradients();
  if (!fetched.ok()) return std::string(fetched.message());
  std::vector<std::string> want;
  for (size_t t = 0; t < tensors; ++t) {
    want.emplace_back(model.wire_gradient(t));
  }
  // In each slot more often than anything is warmed up.
  for (int run = 0; run < 20; ++run) {
    std::string wrong;
    size_t told = 0;
    const auto again = model.ForwardBackward(
        images.data(), labels.data(), n, scale, true, [&](size_t t) {
          ++told;
          if (model.wire_gradient(t) == want[t]) return;
          wrong = absl::StrCat("run ", run, ": other bits in ",
                               model.tensors()[t].name);
        });
    if (!again.ok()) return std::string(again.status().message());
    if (!wrong.empty()) return wrong;
    if (told != tensors) {
      return absl::StrCat("run ", run, ": ", told, " of ", tensors,
                          " tensors were ready");
    }
    if (again->loss_sum != loss->loss_sum) {
      return absl::StrCat("run ", run, ": another loss");
    }
  }
  return "";
}

}  // namespace paceline
