// UpdateJob: which fields a mask may name, and what it does.

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/job/paradigm_spec.h"
#include "common/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/field_mask_util.h"
#include "services/coordinator/jobs/job_check.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

using ::google::protobuf::FieldMask;
using ::google::protobuf::util::FieldMaskUtil;

// These are the fields that UpdateJob's comment names.
constexpr std::array<absl::string_view, 22> kMutable = {
    "display_name",
    "labels",
    "annotations",
    "spec.paradigm",
    "spec.auto",
    "spec.auto.act",
    "spec.learning_rate",
    "spec.batching",
    "spec.priority",
    "spec.workers.min",
    "spec.workers.max",
    "spec.stop",
    "spec.stop.epochs",
    "spec.stop.samples",
    "spec.stop.seconds",
    "spec.stop.target_accuracy",
    "spec.stop.target_loss",
    "spec.stop.at_target",
    "spec.stop.target",
    "spec.checkpoints",
    "spec.checkpoints.interval",
    "spec.checkpoints.keep",
};

constexpr int kPathsMax = 64;

// Lists the mutable ones too if this is the first.
std::string WhyImmutable(const std::string& path, bool first) {
  if (path == "*") {
    return "\"*\" would replace what cannot be changed; name the fields, as "
           "\"spec.learning_rate\"";
  }
  const bool exists =
      !path.empty() && FieldMaskUtil::IsValidPath<v1::Job>(path);
  return absl::StrCat(Quoted(path),
                      exists ? " cannot be changed" : " is no field of a job",
                      first ? "; these can be: " : "",
                      first ? absl::StrJoin(kMutable, ", ") : "");
}

void CheckMask(const FieldMask& mask, FieldChecks& checks) {
  if (mask.paths().empty()) {
    checks.Add("update_mask",
               "is required: it names the fields to change, as "
               "\"spec.learning_rate\"");
  }
  if (mask.paths_size() > kPathsMax) {
    checks.Add("update_mask",
               absl::StrCat("names ", mask.paths_size(), " fields; at most ",
                            kPathsMax, " are allowed"));
    return;
  }
  bool first = true;
  for (const std::string& path : mask.paths()) {
    if (std::find(kMutable.begin(), kMutable.end(), path) != kMutable.end()) {
      continue;
    }
    checks.Add("update_mask", WhyImmutable(path, first));
    first = false;
  }
}

// "auto" leaves the present paradigm; another one is the end of choosing,
// unless the mask says otherwise.
void ChooseParadigm(const v1::Job& current, const FieldMask& mask,
                    v1::JobSpec& spec) {
  const auto names = [&mask](absl::string_view path) {
    return std::ranges::find(mask.paths(), path) != mask.paths().end();
  };
  if (!names("spec.paradigm")) return;
  const bool automatic = spec.paradigm() == kAutoParadigm;
  if (automatic) {
    spec.set_paradigm(current.spec().paradigm());
    spec.mutable_auto_()->set_act(true);
  } else if (!names("spec.auto") && !names("spec.auto.act")) {
    spec.clear_auto_();
  }
}

// Of a field that is set; empty if it is repeated.
std::string ValueOf(const google::protobuf::Message& message,
                    const google::protobuf::FieldDescriptor& field) {
  if (field.is_repeated()) return "";
  const bool is_set = !field.has_presence() ||
                      message.GetReflection()->HasField(message, &field);
  if (!is_set) return " unset";
  std::string value;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintFieldValueToString(message, &field, -1, &value);
  return absl::StrCat(" ", absl::StripAsciiWhitespace(value));
}

}  // namespace

std::string DescribeUpdate(const v1::UpdateJobRequest& request) {
  std::vector<std::string> fields;
  for (const std::string& path : request.update_mask().paths()) {
    const google::protobuf::Message* message = &request.job();
    const google::protobuf::FieldDescriptor* field = nullptr;
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      if (field != nullptr) {
        message = &message->GetReflection()->GetMessage(*message, field);
      }
      field = message->GetDescriptor()->FindFieldByName(std::string(part));
    }
    fields.push_back(absl::StrCat(absl::StripPrefix(path, "spec."),
                                  ValueOf(*message, *field)));
  }
  return absl::StrJoin(fields, ", ");
}

absl::StatusOr<JobName> CheckUpdate(const v1::UpdateJobRequest& request) {
  FieldChecks checks;
  if (!request.has_job()) checks.Add("job", "is required");
  const auto name = ParseJobName("job.name", request.job().name());
  if (request.has_job()) checks.TakeAll(name.status());
  CheckMask(request.update_mask(), checks);
  CheckRequestId(request.request_id(), checks);
  PACELINE_RETURN_IF_ERROR(checks.status());
  return name;
}

absl::StatusOr<v1::Job> ApplyUpdate(const v1::Job& current,
                                    const v1::UpdateJobRequest& request) {
  PACELINE_RETURN_IF_ERROR(CheckUpdate(request).status());
  PACELINE_RETURN_IF_ERROR(CheckEtag(current, request.job().etag()));
  PACELINE_RETURN_IF_ERROR(
      NextState(current.state(), JobEvent::kUpdate, current.name()).status());
  v1::Job updated = current;
  // A field that the mask names is afterwards as in the request, also if it is
  // empty there.
  FieldMaskUtil::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  FieldMaskUtil::MergeMessageTo(request.job(), request.update_mask(), options,
                                &updated);
  ChooseParadigm(current, request.update_mask(), *updated.mutable_spec());
  FieldChecks checks;
  v1::JobSpec spec = CheckJob("job", updated, checks);
  PACELINE_RETURN_IF_ERROR(checks.status());
  *updated.mutable_spec() = std::move(spec);
  return updated;
}

}  // namespace paceline
