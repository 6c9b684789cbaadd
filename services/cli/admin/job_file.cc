#include "services/cli/admin/job_file.h"

#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "protos/google/api/field_behavior.pb.h"
#include "services/cli/admin/yaml_reader.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace paceline {
namespace {

bool IsOutputOnly(const google::protobuf::FieldDescriptor& field) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    if (options.GetExtension(google::api::field_behavior, i) ==
        google::api::OUTPUT_ONLY) {
      return true;
    }
  }
  return false;
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
    PACELINE_ASSIGN_OR_RETURN(v1::Job job, JobOfYaml(document));
    jobs.push_back(std::move(job));
  }
  if (jobs.empty()) {
    return absl::InvalidArgumentError(
        "is empty: a job has a spec with a model and data");
  }
  return jobs;
}

}  // namespace

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
