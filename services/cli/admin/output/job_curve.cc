#include "services/cli/admin/output/job_curve.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/job/metric_target.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/results_table.h"

namespace paceline {
namespace {

std::string ExactTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// With as many digits as tell it from all other numbers.
std::string ExactNumber(double value) {
  return std::isfinite(value) ? Json(value).dump() : absl::StrCat(value);
}

// Accuracy and loss too, by their names.
std::map<std::string, double> MeasuresOf(const v1::AccuracyPoint& point) {
  std::map<std::string, double> measures(point.metrics().begin(),
                                         point.metrics().end());
  if (point.has_accuracy()) {
    measures[std::string(kAccuracyMetric)] = point.accuracy();
  }
  if (point.has_loss()) measures[std::string(kLossMetric)] = point.loss();
  return measures;
}

const Json& ArrayOf(const Json& report, absl::string_view name) {
  static const Json* const kNone = new Json(Json::array());
  const Json* const found = FindField(report, name);
  return found != nullptr && found->is_array() ? *found : *kNone;
}

Table SwitchTable(const Json& report) {
  Table table;
  table.headers = {"SWITCHED AT", "SAMPLES", "FROM", "TO", "REASON"};
  for (const Json& change : ArrayOf(report, "switches")) {
    table.rows.push_back(
        {absl::StrFormat("%.1f", NumberField(change, "seconds").value_or(0)),
         absl::StrCat(IntegerField(change, "samples")),
         TextField(change, "from"), TextField(change, "to"),
         TextField(change, "reason")});
  }
  return table;
}

Json EvaluationDocument(const v1::AccuracyPoint& point, absl::Time time) {
  const auto or_null = [](bool has, double value) {
    return has ? Json(value) : Json(nullptr);
  };
  Json document = {
      {"time", ExactTime(time)},
      {"seconds", point.seconds()},
      {"samples", point.samples()},
      {"version", point.version()},
      {"accuracy", or_null(point.has_accuracy(), point.accuracy())},
      {"loss", or_null(point.has_loss(), point.loss())}};
  Json metrics = Json::object();
  for (const auto& [name, value] : std::map<std::string, double>(
           point.metrics().begin(), point.metrics().end())) {
    metrics[name] = value;
  }
  document["metrics"] = std::move(metrics);
  return document;
}

}  // namespace

std::vector<v1::AccuracyPoint> PointsOf(const Json& report) {
  std::vector<v1::AccuracyPoint> points;
  for (const Json& measured : ArrayOf(report, "accuracy")) {
    v1::AccuracyPoint& point = points.emplace_back();
    point.set_seconds(NumberField(measured, "seconds").value_or(0));
    point.set_version(IntegerField(measured, "version"));
    point.set_version_at_completion(
        IntegerField(measured, "version_at_completion"));
    point.set_samples(IntegerField(measured, "samples"));
    const auto accuracy = NumberField(measured, kAccuracyMetric);
    if (accuracy.has_value()) point.set_accuracy(*accuracy);
    const auto loss = NumberField(measured, kLossMetric);
    if (loss.has_value()) point.set_loss(*loss);
    const Json* const metrics = FindField(measured, "metrics");
    if (metrics == nullptr || !metrics->is_object()) continue;
    for (const auto& [name, value] : metrics->items()) {
      if (value.is_number()) {
        (*point.mutable_metrics())[name] = value.get<double>();
      }
    }
  }
  return points;
}

absl::StatusOr<JobCurve> ReadJobCurve(const v1::Job& job,
                                      const v1::JobReport& report,
                                      const TrainingClock& clock) {
  JobCurve curve;
  curve.job = job.name();
  curve.report = Json::parse(report.json(), nullptr,
                             /*allow_exceptions=*/false);
  if (!curve.report.is_object()) {
    return absl::InternalError(
        absl::StrCat("the report of ", job.name(), " is no JSON object"));
  }
  curve.points = PointsOf(curve.report);
  for (const v1::AccuracyPoint& point : curve.points) {
    curve.times.push_back(clock.At(point.seconds()));
  }
  return curve;
}

std::string CurveText(const JobCurve& curve, bool wide, bool headers) {
  std::vector<const v1::AccuracyPoint*> points;
  for (const v1::AccuracyPoint& point : curve.points) points.push_back(&point);
  Table evaluations = AccuracyTable(points, wide);
  evaluations.headers.insert(evaluations.headers.begin(), "TIME");
  for (size_t i = 0; i < points.size(); ++i) {
    auto& row = evaluations.rows[i];
    row.insert(row.begin(),
               absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", curve.times[i],
                                absl::UTCTimeZone()));
  }
  std::string text = RenderTable(evaluations, headers);
  const std::string switches = RenderTable(SwitchTable(curve.report), headers);
  if (!switches.empty()) absl::StrAppend(&text, "\n", switches);
  absl::StrAppend(&text, WorkersTable("workers", curve.report));
  absl::string_view shown = text;
  absl::ConsumePrefix(&shown, "\n");
  return std::string(shown);
}

Json CurveDocument(const JobCurve& curve) {
  Json evaluations = Json::array();
  for (size_t i = 0; i < curve.points.size(); ++i) {
    evaluations.push_back(EvaluationDocument(curve.points[i], curve.times[i]));
  }
  return {{"job", curve.job},
          {"evaluations", std::move(evaluations)},
          {"switches", ArrayOf(curve.report, "switches")},
          {"workers", ArrayOf(curve.report, "workers")}};
}

Table PointsForPrograms(const std::vector<const v1::AccuracyPoint*>& points,
                        const std::vector<absl::Time>& times) {
  Table table;
  if (!times.empty()) table.headers.emplace_back("time");
  for (const char* const name : {"seconds", "samples", "version"}) {
    table.headers.emplace_back(name);
  }
  std::set<std::string> others;
  for (const v1::AccuracyPoint* const point : points) {
    for (const auto& [name, value] : point->metrics()) others.insert(name);
  }
  std::vector<std::string> names = {std::string(kAccuracyMetric),
                                    std::string(kLossMetric)};
  names.insert(names.end(), others.begin(), others.end());
  table.headers.insert(table.headers.end(), names.begin(), names.end());
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<std::string>& row = table.rows.emplace_back();
    if (!times.empty()) row.push_back(ExactTime(times[i]));
    row.push_back(ExactNumber(points[i]->seconds()));
    row.push_back(absl::StrCat(points[i]->samples()));
    row.push_back(absl::StrCat(points[i]->version()));
    const std::map<std::string, double> measures = MeasuresOf(*points[i]);
    for (const std::string& name : names) {
      const auto found = measures.find(name);
      row.push_back(found == measures.end() ? "" : ExactNumber(found->second));
    }
  }
  return table;
}

std::vector<ScalarStep> CurveScalars(const JobCurve& curve) {
  std::vector<ScalarStep> steps;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    ScalarStep& step = steps.emplace_back();
    step.time = curve.times[i];
    step.step = curve.points[i].samples();
    for (const auto& [name, value] : MeasuresOf(curve.points[i])) {
      step.values[name] = static_cast<float>(value);
    }
  }
  return steps;
}

}  // namespace paceline
