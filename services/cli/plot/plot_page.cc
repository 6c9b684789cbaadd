#include "services/cli/plot/plot_page.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace paceline {
namespace {

// What the page reads of a run. The rest, above all the numbers of each worker,
// would only make it large.
constexpr absl::string_view kFields[] = {"name",
                                         "paradigm",
                                         "virtual",
                                         "complete",
                                         "seconds",
                                         "final_accuracy",
                                         "target",
                                         "seconds_to_target",
                                         "targets",
                                         "updates",
                                         "samples_per_second",
                                         "waiting_share",
                                         "gap",
                                         "staleness",
                                         "accuracy",
                                         "switches",
                                         "timeline",
                                         "gap_histogram",
                                         "staleness_histogram"};

Json PageRun(const Json& run) {
  Json fields = Json::object();
  for (const absl::string_view name : kFields) {
    const Json* field = FindField(run, name);
    if (field != nullptr) fields[std::string(name)] = *field;
  }
  Json names = Json::array();
  if (const Json* workers = FindField(run, "workers")) {
    for (const Json& worker : *workers) {
      names.push_back(TextField(worker, "worker"));
    }
  }
  fields["workers"] = std::move(names);
  return fields;
}

// As the text of a <script>. A worker's name, or a paradigm's, may be anything:
// none can end the element.
std::string PageData(const Json& document) {
  Json data = {{"runs", Json::array()}};
  if (const Json* runs = FindField(document, "runs")) {
    for (const Json& run : *runs) data["runs"].push_back(PageRun(run));
  }
  const std::string left_out = TextField(document, "left_out");
  if (!left_out.empty()) data["left_out"] = left_out;
  const std::string text =
      data.dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}});
}

std::string HtmlText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Whole(EmbeddedText text) { return absl::StrJoin(text, ""); }

}  // namespace

Json HistogramJson(const IntHistogram& histogram) {
  Json pairs = Json::array();
  for (const auto& [value, count] : histogram.counts()) {
    pairs.push_back(Json::array({value, count}));
  }
  return pairs;
}

Json PhaseNames() { return {"absent", "wait", "pull", "compute", "push"}; }

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
          {"phases", PhaseNames()},
          {"workers", std::move(workers)}};
}

absl::Status MissingECharts() {
  return absl::FailedPreconditionError(
      "this paceline was built without Apache ECharts, which draws the page: "
      "install npm and configure the build again with a network, or give "
      "cmake -DPACELINE_ECHARTS=FILE, the echarts.min.js of that package");
}

absl::StatusOr<std::string> PlotPage(const Json& document,
                                     const PageTitle& title,
                                     EmbeddedText echarts) {
  const std::string script = Whole(echarts);
  if (script.empty()) return MissingECharts();
  // In one pass: what is put in is not looked through.
  return absl::StrReplaceAll(Whole(PageTemplate()),
                             {{"{{heading}}", HtmlText(title.heading)},
                              {"{{command}}", HtmlText(title.command)},
                              {"{{style}}", Whole(PageStyle())},
                              {"{{data}}", PageData(document)},
                              {"{{echarts}}", script},
                              {"{{script}}", Whole(PageScript())}});
}

}  // namespace paceline
