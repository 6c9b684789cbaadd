#include "services/cli/plot/run_fields.h"

#include <utility>

namespace paceline {

Json HistogramJson(const IntHistogram& histogram) {
  Json pairs = Json::array();
  for (const auto& [value, count] : histogram.counts()) {
    pairs.push_back(Json::array({value, count}));
  }
  return pairs;
}

Json TimelineJson(const Timeline& timeline) {
  Json workers = Json::array();
  for (const Timeline::Row& row : timeline.rows()) {
    Json spans = Json::array();
    for (const Timeline::Span& span : row) {
      spans.push_back(static_cast<int>(span.phase));
      spans.push_back(span.length);
    }
    workers.push_back(std::move(spans));
  }
  return {{"seconds", ToSeconds(timeline.end())},
          {"full", timeline.full()},
          // In the order of WorkerPhase.
          {"phases", {"absent", "wait", "pull", "compute", "push"}},
          {"workers", std::move(workers)}};
}

}  // namespace paceline
