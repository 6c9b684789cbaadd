#include "services/cli/admin/job_file.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/cli/admin/yaml_reader.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace paceline {
namespace {

using google::protobuf::FieldDescriptor;

constexpr char kNull[] = "null";

// One setting, taken apart.
struct Setting {
  std::vector<std::string> path;  // In snake_case.
  const FieldDescriptor* field = nullptr;
  std::string key;  // Names the entry of a map.
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
  if (setting.field->is_map() && setting.path.size() > 1) {
    return InvalidField(path, "cannot be changed: create another job");
  }
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

void DropOutput(v1::Job* job) {
  const google::protobuf::Descriptor& type = *job->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (IsOutputOnly(*type.field(i))) {
      job->GetReflection()->ClearField(job, type.field(i));
    }
  }
  job->clear_etag();
}

// Where the latest document of a text begins.
class DocumentStart : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// At a ',' where none belongs the YAML library takes nothing from the text, and
// LoadAll() would make empty documents of it until there is no memory left.
absl::Status CheckDocumentsEnd(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  for (int last = -1; parser.HandleNextDocument(start);) {
    if (start.mark().pos == last) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", start.mark().line + 1,
                       ": this is no YAML: a ',' is not expected"));
    }
    last = start.mark().pos;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Job>> JobsOf(
    const std::vector<YAML::Node>& documents) {
  std::vector<v1::Job> jobs;
  for (const YAML::Node& document : documents) {
    // An empty document is what a trailing "---" leaves.
    if (document.IsNull()) continue;
    PACELINE_ASSIGN_OR_RETURN(jobs.emplace_back(), JobOfYaml(document));
  }
  if (jobs.empty()) {
    return absl::InvalidArgumentError(
        "is empty: a job has a spec with a model and data");
  }
  return jobs;
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

absl::StatusOr<v1::Job> JobOfYaml(const YAML::Node& node) {
  YamlReader reader;
  const Json json = reader.ReadMessage(node, *v1::Job::descriptor(), "");
  PACELINE_RETURN_IF_ERROR(InvalidFields(reader.violations()));
  v1::Job job;
  PACELINE_RETURN_IF_ERROR(JsonToMessage(json, &job));
  DropOutput(&job);
  if (!job.has_spec()) {
    return InvalidField("spec", "must be there, with a model and data");
  }
  return job;
}

absl::StatusOr<std::vector<v1::Job>> ParseJobFile(absl::string_view text) {
  if (text.size() > kJobFileBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has more than the ", kJobFileBytesMax, " bytes of a job file"));
  }
  // The YAML library throws; nothing of that leaves here.
  try {
    const std::string copy(text);
    PACELINE_RETURN_IF_ERROR(CheckDocumentsEnd(copy));
    return JobsOf(YAML::LoadAll(copy));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", error.mark.line + 1, ": this is no YAML: ", error.msg));
  }
}

}  // namespace paceline
