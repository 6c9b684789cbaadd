#include "services/coordinator/leadership/kubernetes_lock.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/status.h"

namespace paceline {
namespace {

using nlohmann::json;

constexpr char kAddress[] = "paceline.dev/address";
constexpr char kStandby[] = "paceline.dev/standby";
constexpr char kBeat[] = "paceline.dev/beat";
constexpr char kReleased[] = "paceline.dev/released";
constexpr char kVersion[] = "/metadata/resourceVersion";

std::string AnnotationOf(const json& lease, const std::string& name) {
  const auto metadata = lease.find("metadata");
  if (metadata == lease.end()) return "";
  const auto annotations = metadata->find("annotations");
  if (annotations == metadata->end()) return "";
  const auto found = annotations->find(name);
  return found != annotations->end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

uint64_t NumberIn(const std::string& text) {
  uint64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

std::string Micros(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

}  // namespace

KubernetesLock::KubernetesLock(Options options)
    : options_(std::move(options)), api_(options_.api) {}

std::string KubernetesLock::Path() const {
  return absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/",
                      api_.name_space(), "/leases/", options_.lease);
}

absl::StatusOr<LeaderLock::Seen> KubernetesLock::Read() {
  PACELINE_ASSIGN_OR_RETURN(
      lease_,
      api_.Get(Path(), absl::StrCat("read the lease ", options_.lease)));
  Seen seen;
  seen.version = KubernetesApi::TextAt(lease_, kVersion);
  LeaderRecord record;
  record.holder = KubernetesApi::TextAt(lease_, "/spec/holderIdentity");
  if (record.holder.empty()) return seen;
  record.address = AnnotationOf(lease_, kAddress);
  record.standby = AnnotationOf(lease_, kStandby);
  record.beat = NumberIn(AnnotationOf(lease_, kBeat));
  record.released = AnnotationOf(lease_, kReleased) == "true";
  const json::json_pointer term("/spec/leaseTransitions");
  if (lease_.contains(term) && lease_.at(term).is_number_unsigned()) {
    record.term = lease_.at(term).get<uint64_t>();
  }
  before_ = record.holder;
  seen.record = std::move(record);
  return seen;
}

absl::StatusOr<std::string> KubernetesLock::Write(const LeaderRecord& record,
                                                  const std::string& version) {
  // What others have put there stays: labels, owners.
  json lease = lease_;
  lease["apiVersion"] = "coordination.k8s.io/v1";
  lease["kind"] = "Lease";
  json& metadata = lease["metadata"];
  metadata["name"] = options_.lease;
  metadata["namespace"] = api_.name_space();
  metadata["resourceVersion"] = version;
  metadata["annotations"].update(
      {{kAddress, record.address},
       {kStandby, record.standby},
       {kBeat, absl::StrCat(record.beat)},
       {kReleased, record.released ? "true" : "false"}});
  lease["spec"].update({{"holderIdentity", record.holder},
                        {"leaseTransitions", record.term},
                        {"renewTime", Micros(absl::Now())}});
  // ABORTED if it has another version.
  PACELINE_ASSIGN_OR_RETURN(
      lease_, api_.Put(Path(), lease,
                       absl::StrCat("write the lease ", options_.lease)));
  return KubernetesApi::TextAt(lease_, kVersion);
}

absl::Status KubernetesLock::SetLabel(const std::string& pod, bool leads) {
  if (options_.label.empty()) return absl::OkStatus();
  json label = nullptr;  // Removes it.
  if (leads) label = "true";
  const json changes = {{"metadata", {{"labels", {{options_.label, label}}}}}};
  return api_
      .Patch(
          absl::StrCat("/api/v1/namespaces/", api_.name_space(), "/pods/", pod),
          changes, absl::StrCat("label the pod ", pod))
      .status();
}

absl::Status KubernetesLock::Announce(const std::string& name) {
  absl::Status announced = SetLabel(name, true);
  // The one before it may hang, with its label.
  if (!before_.empty() && before_ != name) announced.Update(Withdraw(before_));
  return announced;
}

absl::Status KubernetesLock::Withdraw(const std::string& name) {
  const absl::Status withdrawn = SetLabel(name, false);
  return absl::IsNotFound(withdrawn) ? absl::OkStatus() : withdrawn;
}

}  // namespace paceline
