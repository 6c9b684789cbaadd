#ifndef PACELINE_COMMON_CHECKPOINT_BOUNDED_JSON_H_
#define PACELINE_COMMON_CHECKPOINT_BOUNDED_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"

namespace paceline {

// Parses a text that may be anything. Discarded (is_discarded()) if it is no
// JSON, or is nested deeper than anything of ours: what works on it recurses.
inline nlohmann::json ParseBoundedJson(absl::string_view text) {
  constexpr int kDepthMax = 50;
  bool too_deep = false;
  nlohmann::json parsed = nlohmann::json::parse(
      text.begin(), text.end(),
      [&too_deep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        too_deep = too_deep || depth > kDepthMax;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep) return {nlohmann::json::value_t::discarded};
  return parsed;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_BOUNDED_JSON_H_
