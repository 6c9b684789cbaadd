#ifndef PACELINE_COMMON_BOUNDED_JSON_H_
#define PACELINE_COMMON_BOUNDED_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"

namespace paceline {

// Parses a text that may be anything. Discarded (is_discarded()) if it is no
// JSON, or is nested deeper than anything of ours: what works on it recurses.
template <class Json = nlohmann::json>
Json ParseBoundedJson(absl::string_view text) {
  constexpr int kDepthMax = 50;
  bool too_deep = false;
  Json parsed = Json::parse(
      text.begin(), text.end(),
      [&too_deep](int depth, typename Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kDepthMax;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep) return Json(nlohmann::json::value_t::discarded);
  return parsed;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_BOUNDED_JSON_H_
