#include "services/cli/admin/field_setting.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/cli/admin/yaml_reader.h"

namespace paceline {
namespace {

using google::protobuf::FieldDescriptor;

constexpr char kNull[] = "null";

// One setting, taken apart.
struct Setting {
  std::vector<std::string> path;  // In snake_case.
  const FieldDescriptor* field = nullptr;
  std::string key;  // Of a map.
  std::string value;
};

absl::StatusOr<Setting> ParseSetting(absl::string_view set) {
  const size_t equals = set.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return InvalidField(set, "write FIELD=VALUE, as spec.learning_rate=0.01");
  }
  Setting setting;
  const absl::string_view typed = set.substr(0, equals);
  setting.value = std::string(set.substr(equals + 1));
  const google::protobuf::Descriptor* type = v1::Job::descriptor();
  const std::vector<absl::string_view> parts = absl::StrSplit(typed, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (type == nullptr) {
      return InvalidField(typed,
                          absl::StrCat(setting.path.back(), " has no fields"));
    }
    setting.field = FindProtoField(*type, parts[i]);
    if (setting.field == nullptr) {
      return InvalidField(typed, NoSuchField(*type, parts[i]));
    }
    setting.path.push_back(setting.field->name());
    if (setting.field->is_map()) {
      // A key may have dots itself.
      setting.key = absl::StrJoin(parts.begin() + static_cast<int>(i) + 1,
                                  parts.end(), ".");
      return setting;
    }
    const bool single_message =
        setting.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        !setting.field->is_repeated();
    type = single_message ? setting.field->message_type() : nullptr;
  }
  return setting;
}

// A text or a number is what it looks like: "dssp: x" is no map.
YAML::Node ValueNode(const Setting& setting) {
  const bool structured =
      setting.field->is_repeated() ||
      (setting.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
       setting.field->message_type()->full_name() !=
           "google.protobuf.Duration");
  return structured ? YAML::Load(setting.value) : YAML::Node(setting.value);
}

absl::Status SetField(const Setting& setting, v1::Job* job) {
  const std::string path = absl::StrJoin(setting.path, ".");
  Json value;
  try {
    YamlReader reader;
    value = reader.ReadField(ValueNode(setting), *setting.field, path);
    PACELINE_RETURN_IF_ERROR(InvalidFields(reader.violations()));
  } catch (const YAML::Exception& error) {
    return InvalidField(
        path, absl::StrCat("\"", setting.value, "\" is no YAML: ", error.msg));
  }
  for (auto part = setting.path.rbegin(); part != setting.path.rend(); ++part) {
    Json outer = Json::object();
    outer[*part] = std::move(value);
    value = std::move(outer);
  }
  v1::Job changed;
  PACELINE_RETURN_IF_ERROR(Annotate(JsonToMessage(value, &changed), path));
  job->MergeFrom(changed);
  return absl::OkStatus();
}

absl::Status AddMapChange(const Setting& setting, JobUpdate* update) {
  if (setting.key.empty()) {
    return InvalidField(setting.path.back(),
                        absl::StrCat("write ", setting.path.back(),
                                     ".KEY=VALUE, or KEY=null to remove it"));
  }
  update->needs_present = true;
  update->map_changes.push_back(
      {.annotation = setting.path.back() == "annotations",
       .key = setting.key,
       .remove = setting.value == kNull,
       .value = setting.value});
  return absl::OkStatus();
}

absl::Status AddSetting(const Setting& setting, JobUpdate* update) {
  const std::string path = absl::StrJoin(setting.path, ".");
  auto& paths = *update->request.mutable_update_mask()->mutable_paths();
  const bool there = std::find(paths.begin(), paths.end(), path) != paths.end();
  if (setting.field->is_map()) {
    if (!there) *paths.Add() = path;
    return AddMapChange(setting, update);
  }
  if (there) return InvalidField(path, "is set twice");
  *paths.Add() = path;
  return setting.value == kNull
             ? absl::OkStatus()
             : SetField(setting, update->request.mutable_job());
}

}  // namespace

absl::StatusOr<JobUpdate> ParseJobUpdate(const std::vector<std::string>& sets) {
  JobUpdate update;
  update.request.mutable_job();
  std::vector<FieldViolation> violations;
  for (const std::string& set : sets) {
    const absl::StatusOr<Setting> setting = ParseSetting(set);
    const absl::Status added =
        setting.ok() ? AddSetting(*setting, &update) : setting.status();
    if (added.ok()) continue;
    const std::vector<FieldViolation> found = ViolationsOf(added);
    if (found.empty()) return added;
    violations.insert(violations.end(), found.begin(), found.end());
  }
  PACELINE_RETURN_IF_ERROR(InvalidFields(violations));
  return update;
}

void ApplyMapChanges(const v1::Job& present, JobUpdate* update) {
  v1::Job& job = *update->request.mutable_job();
  *job.mutable_labels() = present.labels();
  *job.mutable_annotations() = present.annotations();
  for (const JobUpdate::MapChange& change : update->map_changes) {
    auto& map =
        change.annotation ? *job.mutable_annotations() : *job.mutable_labels();
    if (change.remove) {
      map.erase(change.key);
    } else {
      map[change.key] = change.value;
    }
  }
}

}  // namespace paceline
