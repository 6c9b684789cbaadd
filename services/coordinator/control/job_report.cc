#include "services/coordinator/control/job_report.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace paceline {
namespace {

using Json = nlohmann::ordered_json;

void AddUp(const Json& before, Json& after,
           std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    Json& sum = after[name];
    if (sum.is_number_float()) {
      sum = before.value(name, 0.0) + sum.get<double>();
    } else {
      sum = before.value(name, int64_t{0}) + sum.get<int64_t>();
    }
  }
}

// Of the objects of `before` those that were in time, and then those of
// `after`.
void Prepend(const Json& before, double began, const char* name, Json& after) {
  Json all = Json::array();
  for (const Json& one : before.value(name, Json::array())) {
    if (one.value("seconds", 0.0) <= began) all.push_back(one);
  }
  for (Json& one : after[name]) all.push_back(std::move(one));
  after[name] = std::move(all);
}

void MergeQuantiles(const Json& before, bool trained, const char* name,
                    Json& after) {
  const int64_t most = std::max(before.at(name).value("max", int64_t{0}),
                                after[name].value("max", int64_t{0}));
  if (!trained) after[name] = before.at(name);
  after[name]["max"] = most;
}

void MergeWorker(const Json& before, Json& after) {
  const bool trained = after["iterations"] > 0;
  AddUp(before, after,
        {"iterations", "samples", "samples_discarded", "held",
         "held_not_fastest"});
  AddUp(before.at("seconds"), after["seconds"],
        {"load", "compute", "push", "wait", "pull"});
  after["longest_wait_seconds"] =
      std::max(before.value("longest_wait_seconds", 0.0),
               after.value("longest_wait_seconds", 0.0));
  MergeQuantiles(before, trained, "gap", after);
  MergeQuantiles(before, trained, "staleness", after);
}

void MergeWorkers(const Json& before, Json& after) {
  for (const Json& worker : before) {
    const auto same =
        std::find_if(after.begin(), after.end(), [&](const Json& one) {
          return one.at("worker") == worker.at("worker");
        });
    if (same == after.end()) {
      after.push_back(worker);
    } else {
      MergeWorker(worker, *same);
    }
  }
  std::sort(after.begin(), after.end(), [](const Json& a, const Json& b) {
    return a.at("worker") < b.at("worker");
  });
}

// Whether a target that was reached before is reached in this run from its
// first evaluation on, or not known to be lost.
bool StaysReached(const Json& run) {
  const Json& accuracy = run.at("accuracy");
  return accuracy.empty() ||
         run.at("seconds_to_target") == accuracy.front().at("seconds");
}

// What the last evaluation has measured, and when the target was reached, which
// `stays` so.
void MergeResults(const Json& before, double began, bool stays, Json& after) {
  const Json& accuracy = after["accuracy"];
  if (after["final_metrics"].empty() && !accuracy.empty() &&
      accuracy.back() == before.at("accuracy").back()) {
    after["final_accuracy"] = before.at("final_accuracy");
    after["final_metrics"] = before.at("final_metrics");
  }
  const Json& reached = before.at("seconds_to_target");
  if (before.at("target") == after["target"] && reached.is_number() &&
      reached.get<double>() <= began && stays) {
    after["seconds_to_target"] = reached;
  }
}

}  // namespace

std::string MergeReports(const std::string& before, const std::string& after,
                         double began) {
  if (before.empty() || began <= 0) return after;
  // Of a store that another version has filled, perhaps.
  try {
    const Json former = Json::parse(before);
    Json merged = Json::parse(after);
    const bool stays = StaysReached(merged);
    merged["paradigm"] = former.at("paradigm");
    // Of the last push: there may be none in this run yet.
    merged["seconds"] =
        std::max(merged.at("seconds").get<double>(),
                 std::min(former.at("seconds").get<double>(), began));
    Prepend(former, began, "accuracy", merged);
    Prepend(former, began, "switches", merged);
    MergeResults(former, began, stays, merged);
    AddUp(
        former, merged,
        {"pushes", "discarded", "refused_blocks", "push_bytes", "pull_bytes"});
    MergeWorkers(former.at("workers"), merged.at("workers"));
    return merged.dump();
  } catch (const Json::exception&) {
    return after;
  }
}

}  // namespace paceline
