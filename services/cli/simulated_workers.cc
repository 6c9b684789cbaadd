#include "services/cli/simulated_workers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/in_flight.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/trace_file.h"

namespace paceline {
namespace {

constexpr int64_t kMostWorkers = 100'000;
constexpr int64_t kUsualWorkers = 4;
constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kHour = Nanos{3'600} * 1'000'000'000;
// The bursts of the profile, in iterations.
constexpr int64_t kBurstEvery = 20;
constexpr int64_t kBurstLength = 5;
constexpr double kBurstFactor = 4;

// What --profile stands for.
struct Profile {
  std::vector<double> factors = {1};
  Jitter::Kind scatter = Jitter::Kind::kNone;
  bool bursts = false;

  bool jitters() const { return bursts || scatter != Jitter::Kind::kNone; }
};

absl::StatusOr<std::vector<double>> ParseRatio(absl::string_view list) {
  std::vector<double> factors;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    double factor = 0;
    if (!absl::SimpleAtod(part, &factor) ||
        !(factor >= 0.001 && factor <= 1000)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--profile ratio:", list, ": \"", part,
                       "\" is no factor from 0.001 to 1000"));
    }
    factors.push_back(factor);
  }
  return factors;
}

absl::StatusOr<Profile> ParseProfile(absl::string_view text) {
  Profile profile;
  absl::string_view list = text;
  if (absl::ConsumePrefix(&list, "ratio:")) {
    PACELINE_ASSIGN_OR_RETURN(profile.factors, ParseRatio(list));
  } else if (text == "four-speeds") {
    profile.factors = {1, 1.3, 1.7, 2.9};
  } else if (text == "bursts") {
    profile.bursts = true;
  } else if (text == "exponential") {
    profile.scatter = Jitter::Kind::kExponential;
  } else if (text != "uniform") {
    return absl::InvalidArgumentError(
        absl::StrCat("--profile \"", text, "\": must be one of uniform, ",
                     "ratio:1,1,1,4, four-speeds, bursts, exponential"));
  }
  return profile;
}

// How many workers the flags make together, none of them by itself.
absl::StatusOr<size_t> CountWorkers(const SimulateFlags& flags, size_t times,
                                    size_t factors) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--workers", flags.workers, 0, kMostWorkers));
  if (times > 1 && factors > 1) {
    return absl::InvalidArgumentError(
        "--profile multiplies one iteration time: give --iteration-times one "
        "value, or another profile");
  }
  const size_t listed = std::max(times, factors);
  const auto wanted = static_cast<size_t>(flags.workers);
  if (wanted == 0) return listed > 1 ? listed : size_t{kUsualWorkers};
  if (factors > wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("--profile ", flags.profile, ": lists ", factors,
                     " factors for ", wanted, " workers"));
  }
  if (times > wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("--iteration-times ", flags.iteration_times, ": lists ",
                     times, " times for ", wanted, " workers"));
  }
  return wanted;
}

absl::StatusOr<std::vector<Jitter>> ParseJitters(const SimulateFlags& flags,
                                                 size_t workers) {
  if (flags.jitter.size() > 1 && flags.jitter.size() != workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--jitter was given ", flags.jitter.size(),
        " times: give it once, or once per worker, ", workers, " times"));
  }
  std::vector<Jitter> jitters;
  for (const std::string& text : flags.jitter) {
    PACELINE_ASSIGN_OR_RETURN(jitters.emplace_back(),
                              Annotate(ParseJitter(text), "--jitter"));
  }
  if (jitters.empty()) jitters.emplace_back();
  return jitters;
}

Jitter JitterOf(const Profile& profile, Nanos iteration) {
  Jitter jitter;
  jitter.kind = profile.scatter;
  if (profile.bursts) {
    jitter.bursts = Bursts{.every = kBurstEvery * iteration,
                           .length = kBurstLength * iteration,
                           .factor = kBurstFactor,
                           .first = std::nullopt};
  }
  return jitter;
}

absl::StatusOr<std::vector<WorkerSpec>> MadeUpWorkers(
    const SimulateFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const Profile profile, ParseProfile(flags.profile));
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<Nanos> times,
      ParseNanosList(
          "--iteration-times",
          flags.iteration_times.empty() ? "1s" : flags.iteration_times,
          kMicrosecond, kHour));
  PACELINE_ASSIGN_OR_RETURN(
      const size_t count,
      CountWorkers(flags, times.size(), profile.factors.size()));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<Jitter> jitters,
                            ParseJitters(flags, count));
  if (!flags.jitter.empty() && profile.jitters()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--jitter contradicts --profile ", flags.profile,
                     ", which has its own"));
  }
  std::vector<WorkerSpec> workers(count);
  for (size_t i = 0; i < count; ++i) {
    DeviceSpec& device = workers[i].device;
    workers[i].name = absl::StrCat("w", i);
    const double factor = profile.factors[i % profile.factors.size()];
    const Nanos time = times[i % times.size()];
    device.iteration = std::clamp<Nanos>(
        std::llround(static_cast<double>(time) * factor), 1, kHour);
    device.jitter = profile.jitters() ? JitterOf(profile, device.iteration)
                                      : jitters[i % jitters.size()];
  }
  return workers;
}

// The mean time of a full batch.
Nanos MeanOf(const std::vector<RecordedIteration>& iterations,
             int64_t batch_size) {
  double sum = 0;
  for (const RecordedIteration& iteration : iterations) {
    sum += static_cast<double>(iteration.compute) *
           static_cast<double>(batch_size) / iteration.samples;
  }
  const auto n = static_cast<double>(iterations.size());
  return std::clamp<Nanos>(std::llround(sum / n), 1, kHour);
}

absl::StatusOr<std::vector<RecordedWorker>> ReadRecorded(
    const SimulateFlags& flags) {
  const auto batch_size = static_cast<uint32_t>(flags.batch_size);
  if (!flags.trace.empty()) return ReadTraceFile(flags.trace, batch_size);
  std::istringstream lines(flags.job_trace);
  return Annotate(ReadTrace(lines, batch_size), "--job");
}

// Copies of a recorded worker begin at different places, so that they do not
// run in step.
absl::StatusOr<std::vector<WorkerSpec>> RecordedWorkers(
    const SimulateFlags& flags) {
  if (!flags.iteration_times.empty() || flags.profile != "uniform" ||
      !flags.jitter.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.trace.empty() ? "--job" : "--trace",
        " contradicts --iteration-times, --profile and --jitter: it has the "
        "times itself"));
  }
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--workers", flags.workers, 0, kMostWorkers));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<RecordedWorker> recorded,
                            ReadRecorded(flags));
  const size_t count =
      flags.workers == 0 ? recorded.size() : static_cast<size_t>(flags.workers);
  const size_t copies = (count + recorded.size() - 1) / recorded.size();
  std::vector<WorkerSpec> workers(count);
  for (size_t i = 0; i < count; ++i) {
    const RecordedWorker& original = recorded[i % recorded.size()];
    const size_t copy = i / recorded.size();
    workers[i].name =
        copy == 0 ? original.name : absl::StrCat(original.name, ".", copy + 1);
    DeviceSpec& device = workers[i].device;
    device.recorded = original.iterations;
    device.offset = copy * original.iterations->size() / copies;
    device.iteration = copy == 0
                           ? MeanOf(*original.iterations, flags.batch_size)
                           : workers[i % recorded.size()].device.iteration;
  }
  return workers;
}

absl::Status AddLinks(const SimulateFlags& flags,
                      std::vector<WorkerSpec>& workers) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<Nanos> latencies,
      ParseNanosList("--latency", flags.latency, 0, kHour));
  std::vector<double> bandwidths;
  if (!flags.bandwidth.empty()) {
    for (const absl::string_view part : absl::StrSplit(flags.bandwidth, ',')) {
      PACELINE_ASSIGN_OR_RETURN(bandwidths.emplace_back(),
                                ParseBytesPerSecond("--bandwidth", part));
    }
  } else {
    bandwidths.push_back(0);
  }
  if (std::max(latencies.size(), bandwidths.size()) > workers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--latency and --bandwidth list more values than the ",
                     workers.size(), " workers"));
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].link = {latencies[i % latencies.size()],
                       bandwidths[i % bandwidths.size()]};
  }
  return absl::OkStatus();
}

absl::Status AddInFlight(const SimulateFlags& flags,
                         std::vector<WorkerSpec>& workers) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--in-flight", flags.in_flight, 1, kMostInFlight));
  const size_t count = workers.size();
  for (int i = 1; i < flags.in_flight; ++i) {
    for (size_t of = 0; of < count; ++of) {
      WorkerSpec other = workers[of];
      other.name = NameInFlight(other.name, i);
      other.of = of;
      workers.push_back(std::move(other));
    }
  }
  return absl::OkStatus();
}

using Kind = MembershipChange::Kind;

constexpr Nanos kLatest = Nanos{10} * 365 * 86'400 * 1'000'000'000;

absl::string_view FlagOf(Kind kind) {
  switch (kind) {
    case Kind::kJoin:
      return "--join";
    case Kind::kLeave:
      return "--leave";
    case Kind::kCrash:
      return "--crash";
  }
  return "";
}

std::optional<size_t> FindWorker(absl::string_view text,
                                 const std::vector<WorkerSpec>& workers) {
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].name == text) return i;
  }
  size_t index = 0;
  if (absl::SimpleAtoi(text, &index) && index < workers.size()) return index;
  return std::nullopt;
}

absl::Status Read(Kind kind, absl::string_view list,
                  const std::vector<WorkerSpec>& workers,
                  std::vector<MembershipChange>& changes) {
  const absl::string_view flag = FlagOf(kind);
  if (list.empty()) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> sides = absl::StrSplit(part, '@');
    if (sides.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " \"", part, "\": want WORKER@TIME, such as 3@60s"));
    }
    const std::optional<size_t> worker = FindWorker(sides[0], workers);
    if (!worker.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", part, ": there is no such worker; they are ",
                       "numbered from 0 to ", workers.size() - 1));
    }
    PACELINE_ASSIGN_OR_RETURN(const Nanos at,
                              ParseNanos(flag, sides[1], 0, kLatest));
    changes.push_back({kind, *worker, at});
  }
  return absl::OkStatus();
}

// That the changes, sorted, make sense for each worker.
absl::Status Check(const std::vector<MembershipChange>& changes,
                   const std::vector<WorkerSpec>& workers) {
  std::vector<std::optional<bool>> there(workers.size());
  size_t at_start = workers.size();
  std::vector<Nanos> latest(workers.size(), -1);
  for (const MembershipChange& change : changes) {
    if (std::exchange(latest[change.worker], change.at) == change.at) {
      return absl::InvalidArgumentError(absl::StrCat(
          FlagOf(change.kind), " ", workers[change.worker].name, "@",
          absl::FormatDuration(absl::Nanoseconds(change.at)),
          ": two changes of one worker at one instant; which comes first?"));
    }
    const bool joins = change.kind == Kind::kJoin;
    std::optional<bool>& now = there[change.worker];
    if (!now.has_value() && joins) --at_start;
    if (now.value_or(!joins) == joins) {
      return absl::InvalidArgumentError(absl::StrCat(
          FlagOf(change.kind), " ", workers[change.worker].name, "@",
          absl::FormatDuration(absl::Nanoseconds(change.at)),
          ": the worker is ", joins ? "already there" : "not there"));
    }
    now = joins;
  }
  if (at_start > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--join: nobody is there at the start; leave one worker out");
}

}  // namespace

absl::StatusOr<std::vector<WorkerSpec>> ParseSimulatedWorkers(
    const SimulateFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<WorkerSpec> workers,
                            flags.trace.empty() && flags.job_trace.empty()
                                ? MadeUpWorkers(flags)
                                : RecordedWorkers(flags));
  if (!(flags.micro_batch_cost >= 0 && flags.micro_batch_cost <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--micro-batch-cost ", flags.micro_batch_cost,
                     ": want a share from 0 to 1"));
  }
  for (WorkerSpec& worker : workers) {
    worker.device.micro_batch = std::llround(
        static_cast<double>(worker.device.iteration) * flags.micro_batch_cost);
  }
  PACELINE_RETURN_IF_ERROR(AddLinks(flags, workers));
  PACELINE_RETURN_IF_ERROR(AddInFlight(flags, workers));
  return workers;
}

absl::StatusOr<std::vector<MembershipChange>> ParseMembershipChanges(
    const SimulateFlags& flags, const std::vector<WorkerSpec>& workers) {
  std::vector<MembershipChange> changes;
  PACELINE_RETURN_IF_ERROR(Read(Kind::kJoin, flags.join, workers, changes));
  PACELINE_RETURN_IF_ERROR(Read(Kind::kLeave, flags.leave, workers, changes));
  PACELINE_RETURN_IF_ERROR(Read(Kind::kCrash, flags.crash, workers, changes));
  std::ranges::stable_sort(changes, {}, [](const MembershipChange& change) {
    return std::pair(change.at, change.worker);
  });
  PACELINE_RETURN_IF_ERROR(Check(changes, workers));
  return changes;
}

}  // namespace paceline
