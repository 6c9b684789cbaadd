#include "services/cli/admin/output/job_comparison.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/admin/output/job_curve.h"
#include "services/cli/admin/output/job_view.h"
#include "services/coordinator/accuracy.h"

namespace paceline {
namespace {

using Points = std::vector<AccuracyPoint>;

Points MeasuredPoints(const Json& report) {
  Points points;
  for (const v1::AccuracyPoint& wire : PointsOf(report)) {
    AccuracyPoint& point = points.emplace_back();
    point.seconds = wire.seconds();
    if (wire.has_accuracy()) point.accuracy = wire.accuracy();
    if (wire.has_loss()) point.loss = wire.loss();
    point.metrics = {wire.metrics().begin(), wire.metrics().end()};
  }
  return points;
}

// The first one, and every one that took over. A switch of a job that stood
// still is in no report: the last one is what it has now.
std::vector<std::string> ParadigmsOf(const v1::Job& job, const Json& report) {
  std::vector<std::string> paradigms;
  const auto add = [&](std::string paradigm) {
    if (!paradigm.empty() &&
        (paradigms.empty() || paradigms.back() != paradigm)) {
      paradigms.push_back(std::move(paradigm));
    }
  };
  add(TextField(report, "paradigm"));
  const Json* const switches = FindField(report, "switches");
  if (switches != nullptr && switches->is_array()) {
    for (const Json& change : *switches) add(TextField(change, "to"));
  }
  add(ParadigmText(job));
  return paradigms;
}

ComparedJob CompareOne(const ReportedJob& reported, const Points& points,
                       const JobComparison& by) {
  const v1::Job& job = reported.job;
  ComparedJob compared{.name = job.name(),
                       .label = reported.label,
                       .state = StateText(job.state()),
                       .paradigms = ParadigmsOf(job, reported.report),
                       .batching = job.spec().batching().empty()
                                       ? "even"
                                       : job.spec().batching(),
                       .samples = job.progress().samples(),
                       .seconds = NumberField(reported.report, "seconds")
                                      .value_or(job.progress().seconds())};
  for (const AccuracyPoint& point : points) {
    const std::optional<double> measured = MetricOf(point, by.metric);
    if (!measured.has_value()) continue;
    compared.last = measured;
    if (!compared.best.has_value() ||
        (by.more_is_better ? *measured > *compared.best
                           : *measured < *compared.best)) {
      compared.best = measured;
    }
  }
  if (by.target.has_value()) {
    compared.seconds_to_target = SecondsToTarget(points, *by.target);
  }
  return compared;
}

std::string ShortParadigms(const ComparedJob& job) {
  std::vector<std::string> names;
  for (const std::string& paradigm : job.paradigms) {
    names.push_back(paradigm.substr(0, paradigm.find(':')));
  }
  // A job of "auto" may have had many.
  constexpr size_t kMost = 4;
  if (names.size() > kMost) {
    const size_t left_out = names.size() - 2;
    return absl::StrCat(names.front(), " > ", left_out, " others > ",
                        names.back());
  }
  return absl::StrJoin(names, " > ");
}

std::string FourDigits(std::optional<double> value) {
  return value.has_value() ? absl::StrFormat("%.4f", *value) : "";
}

std::string OneDigit(std::optional<double> value) {
  return value.has_value() ? absl::StrFormat("%.1f", *value) : "";
}

Json NumberOrNull(std::optional<double> value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

std::string AllDigits(std::optional<double> value) {
  return value.has_value() ? Json(*value).dump() : "";
}

// "a", "a and b", "a, b and c".
std::string Enumerated(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return absl::StrJoin(parts, "");
  return absl::StrCat(absl::StrJoin(parts.begin(), parts.end() - 1, ", "),
                      " and ", parts.back());
}

// "1.8 times sooner than a".
std::string Sooner(double mine, const ComparedJob& other) {
  const double ratio = mine > 0 ? *other.seconds_to_target / mine : 0;
  if (ratio >= 9.95) {
    return absl::StrFormat("%.0f times sooner than %s", ratio, other.label);
  }
  if (ratio >= 1.05) {
    return absl::StrFormat("%.1f times sooner than %s", ratio, other.label);
  }
  return absl::StrCat(ratio > 0 ? "about as soon as " : "sooner than ",
                      other.label);
}

std::string TargetSentence(const JobComparison& comparison) {
  const std::string target = FormatMetricTarget(*comparison.target);
  std::vector<const ComparedJob*> reached;
  std::vector<std::string> missed;
  for (const ComparedJob& job : comparison.jobs) {
    if (job.seconds_to_target.has_value()) {
      reached.push_back(&job);
    } else {
      missed.push_back(job.label);
    }
  }
  if (reached.empty()) {
    return absl::StrCat("None of them has reached ", target, ".");
  }
  std::ranges::stable_sort(reached, {}, [](const ComparedJob* job) {
    return *job->seconds_to_target;
  });
  const double first = *reached[0]->seconds_to_target;
  std::vector<std::string> others;
  for (size_t i = 1; i < reached.size(); ++i) {
    others.push_back(Sooner(first, *reached[i]));
  }
  std::string text =
      absl::StrCat(reached[0]->label, " reached ", target, " ",
                   others.empty() ? absl::StrFormat("after %.1f s", first)
                                  : Enumerated(others));
  if (!missed.empty()) {
    absl::StrAppend(&text, "; ", Enumerated(missed),
                    missed.size() == 1 ? " has" : " have", " not reached it");
  }
  return absl::StrCat(text, ".");
}

std::string BestSentence(const JobComparison& comparison) {
  const ComparedJob* best = nullptr;
  for (const ComparedJob& job : comparison.jobs) {
    if (!job.best.has_value()) continue;
    const bool better = best == nullptr ||
                        (comparison.more_is_better ? *job.best > *best->best
                                                   : *job.best < *best->best);
    if (better) best = &job;
  }
  if (best == nullptr) return "None of them has been evaluated.";
  std::vector<std::string> others;
  for (const ComparedJob& job : comparison.jobs) {
    if (&job == best) continue;
    others.push_back(
        job.best.has_value()
            ? absl::StrCat(job.label, " has ", FourDigits(job.best))
            : absl::StrCat(job.label, " has none"));
  }
  return absl::StrCat(best->label, " has the best ", comparison.metric, ", ",
                      FourDigits(best->best), "; ", Enumerated(others), ".");
}

}  // namespace

JobComparison CompareJobs(const std::vector<ReportedJob>& jobs,
                          const std::optional<MetricTarget>& target) {
  std::vector<Points> points;
  points.reserve(jobs.size());
  for (const ReportedJob& job : jobs) {
    points.push_back(MeasuredPoints(job.report));
  }
  JobComparison comparison;
  comparison.target = target;
  if (target.has_value()) {
    comparison.metric = target->metric;
    comparison.more_is_better = target->at_least;
  } else {
    const auto any = [&](absl::string_view metric) {
      return std::ranges::any_of(points, [&](const Points& of_job) {
        return std::ranges::any_of(of_job, [&](const AccuracyPoint& point) {
          return MetricOf(point, metric).has_value();
        });
      });
    };
    const bool by_loss = !any(kAccuracyMetric) && any(kLossMetric);
    comparison.metric = std::string(by_loss ? kLossMetric : kAccuracyMetric);
    comparison.more_is_better = !by_loss;
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    comparison.jobs.push_back(CompareOne(jobs[i], points[i], comparison));
  }
  return comparison;
}

Table ComparisonTable(const JobComparison& comparison, bool wide) {
  const std::string metric = absl::AsciiStrToUpper(comparison.metric);
  Table table;
  table.headers = {"JOB",
                   "STATE",
                   "PARADIGM",
                   "BATCHING",
                   "SAMPLES",
                   "SECONDS",
                   absl::StrCat("LAST ", metric),
                   absl::StrCat("BEST ", metric)};
  if (comparison.target.has_value()) {
    table.headers.push_back(absl::StrCat(
        "TO ", absl::AsciiStrToUpper(FormatMetricTarget(*comparison.target))));
  }
  for (const ComparedJob& job : comparison.jobs) {
    table.rows.push_back(
        {job.label, job.state,
         wide ? absl::StrJoin(job.paradigms, " > ") : ShortParadigms(job),
         job.batching, absl::StrCat(job.samples), OneDigit(job.seconds),
         FourDigits(job.last), FourDigits(job.best)});
    if (comparison.target.has_value()) {
      table.rows.back().push_back(OneDigit(job.seconds_to_target));
    }
  }
  return table;
}

Table ComparisonForPrograms(const JobComparison& comparison) {
  Table table;
  table.headers = {"job",     "state",   "paradigms",        "batching",
                   "samples", "seconds", "metric",           "last",
                   "best",    "target",  "seconds_to_target"};
  for (const ComparedJob& job : comparison.jobs) {
    table.rows.push_back(
        {job.name, job.state, absl::StrJoin(job.paradigms, " > "), job.batching,
         absl::StrCat(job.samples), AllDigits(job.seconds), comparison.metric,
         AllDigits(job.last), AllDigits(job.best),
         comparison.target.has_value() ? FormatMetricTarget(*comparison.target)
                                       : "",
         AllDigits(job.seconds_to_target)});
  }
  return table;
}

Json ComparisonDocument(const JobComparison& comparison) {
  Json jobs = Json::array();
  for (const ComparedJob& job : comparison.jobs) {
    jobs.push_back(
        {{"job", job.name},
         {"state", job.state},
         {"paradigms", job.paradigms},
         {"batching", job.batching},
         {"samples", job.samples},
         {"seconds", job.seconds},
         {"last", NumberOrNull(job.last)},
         {"best", NumberOrNull(job.best)},
         {"seconds_to_target", NumberOrNull(job.seconds_to_target)}});
  }
  return {{"metric", comparison.metric},
          {"target", comparison.target.has_value()
                         ? Json(FormatMetricTarget(*comparison.target))
                         : Json(nullptr)},
          {"jobs", std::move(jobs)},
          {"conclusion", ComparisonSentence(comparison)}};
}

std::string ComparisonSentence(const JobComparison& comparison) {
  return comparison.target.has_value() ? TargetSentence(comparison)
                                       : BestSentence(comparison);
}

}  // namespace paceline
