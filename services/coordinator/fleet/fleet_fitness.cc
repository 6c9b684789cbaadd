// Who of the fleet is fit for which job: by its wire format, its room, and what
// has happened there before.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/job/names.h"
#include "common/log/log.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/fleet/assignment.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/fleet/server_choice.h"
#include "services/coordinator/fleet/wire_knowledge.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

// One of those that a job could get and that does not know its format.
struct Unknowing {
  std::string name;  // "servers/s0"
  std::string why;
};

bool Allows(const google::protobuf::RepeatedPtrField<std::string>& names,
            const std::string& name) {
  return names.empty() || absl::c_linear_search(names, name);
}

// Whether a job could get who says that.
bool CouldGet(const v1::JobSpec& spec, const v1::WorkerHello& hello) {
  const std::string program(
      ProgramOf(spec.model()).value_or(absl::string_view()));
  if (!HasModel(hello.programs(), program)) return false;
  return hello.evaluator() ||
         (Allows(spec.workers().pools(), hello.pool()) &&
          Allows(spec.workers().gpu_models(), hello.gpu_model()));
}

absl::Status Refuse(const std::vector<Unknowing>& unknowing,
                    v1::WireFormat format) {
  const Unknowing& first = unknowing.front();
  const size_t others = unknowing.size() - 1;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          first.name, " ", first.why,
          others == 0
              ? ""
              : absl::StrCat("; nor ", others == 1 ? "does " : "do ", others,
                             others == 1 ? " other" : " others"),
          ". Replace its program, drain it, or choose another `wire`")),
      "WIRE_FORMAT_NOT_KNOWN",
      {{"name", first.name}, {"format", v1::WireFormat_Name(format)}});
}

}  // namespace

absl::StatusOr<std::vector<ServerLink>> Fleet::PickServers(
    uint32_t count, v1::WireFormat format) const {
  absl::MutexLock lock(&mu_);
  std::vector<LoadedServer> servers;
  std::string others;
  for (const auto& [id, entry] : servers_) {
    if (!IsConnected(entry.stream) || !TakesJobs(id, entry)) continue;
    if (!KnowsFormat(entry.hello.formats(), format)) {
      absl::StrAppend(&others, "; ", entry.hello.name(), " ",
                      WhyNotKnown(entry.hello.version(), format));
      continue;
    }
    servers.push_back({BytesOn(id), LinkOf(id, entry.hello, entry.stream)});
  }
  auto picked = LeastLoaded(std::move(servers), count);
  if (picked.ok() || others.empty()) return picked;
  return absl::UnavailableError(
      absl::StrCat(picked.status().message(), others));
}

absl::Status Fleet::CheckFormat(const v1::JobSpec& spec) const {
  std::vector<Unknowing> unknowing;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : servers_) {
      const v1::ServerHello& hello = entry.hello;
      if (entry.leaving || drained_servers_.contains(hello.name()) ||
          KnowsFormat(hello.formats(), spec.wire())) {
        continue;
      }
      unknowing.push_back({FormatServerName(hello.name()),
                           WhyNotKnown(hello.version(), spec.wire())});
    }
    for (const auto& [id, entry] : workers_) {
      const v1::WorkerHello& hello = entry.hello;
      if (Draining(entry) || !CouldGet(spec, hello) ||
          KnowsFormat(hello.formats(), spec.wire())) {
        continue;
      }
      unknowing.push_back({FormatWorkerName(hello.name()),
                           WhyNotKnown(hello.version(), spec.wire())});
    }
  }
  if (unknowing.empty()) return absl::OkStatus();
  std::ranges::sort(unknowing, {}, &Unknowing::name);
  return Refuse(unknowing, spec.wire());
}

template <class Hello>
void Fleet::TellLeftOut(absl::string_view role, const Hello& hello) const {
  std::vector<std::shared_ptr<JobRun>> runs;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, run] : runs_) {
      if (!KnowsFormat(hello.formats(), run->wire())) runs.push_back(run);
    }
  }
  for (const auto& run : runs) {
    LogWarning("left out of a job",
               {{std::string(role), hello.name()},
                {"job", run->job_name()},
                {"reason", WhyNotKnown(hello.version(), run->wire())}});
  }
}

template void Fleet::TellLeftOut(absl::string_view role,
                                 const v1::WorkerHello& hello) const;
template void Fleet::TellLeftOut(absl::string_view role,
                                 const v1::ServerHello& hello) const;

absl::Status Fleet::CheckRoom(const JobRun& run,
                              const ParadigmSpec& paradigm) const {
  absl::MutexLock lock(&mu_);
  for (const auto& [id, entry] : servers_) {
    uint64_t needed = 0;
    uint64_t others = 0;
    for (const auto& [number, other] : runs_) {
      const bool its_own = other.get() == &run;
      for (const v1::HostedShard& shard :
           other->ShardsOn(id, its_own ? &paradigm : nullptr)) {
        (its_own ? needed : others) += shard.memory_bytes();
      }
    }
    PACELINE_RETURN_IF_ERROR(
        CheckRoomOf(entry.hello, needed, others, paradigm));
  }
  return absl::OkStatus();
}

EvaluatorKnown Fleet::FindEvaluator(const std::string& job,
                                    absl::string_view program,
                                    v1::WireFormat format) const {
  absl::MutexLock lock(&mu_);
  EvaluatorKnown known;
  for (const auto& [id, is] : workers_) {
    if (!is.hello.evaluator() || Draining(is) || !IsConnected(is.stream) ||
        !HasModel(is.hello.programs(), program)) {
      continue;
    }
    const auto trouble = is.troubles.find(job);
    const bool unfit = trouble != is.troubles.end() && trouble->second.unfit();
    const bool knows = KnowsFormat(is.hello.formats(), format);
    if (knows && !unfit) return {.exists = true};
    if (!known.why_none.empty()) continue;
    known.why_none = absl::StrCat(
        is.hello.name(), " cannot take part: ",
        knows ? trouble->second.why()
              : absl::StrCat("it ", WhyNotKnown(is.hello.version(), format)));
  }
  return known;
}

}  // namespace paceline
