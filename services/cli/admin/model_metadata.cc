#include "services/cli/admin/model_metadata.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/job/normalization.h"

namespace paceline {
namespace {

// A field of the job's specification; empty: it is not there.
std::string FieldOf(const nlohmann::json& spec, const char* name) {
  const auto found = spec.find(name);
  const bool text = found != spec.end() && found->is_string();
  return text ? found->get<std::string>() : "";
}

std::string NormalizationText(const std::vector<Normalization>& channels) {
  const auto pair = [](std::string* out, const Normalization& channel) {
    absl::StrAppendFormat(out, "[%.4f, %.4f]", channel.mean, channel.deviation);
  };
  return absl::StrCat("[", absl::StrJoin(channels, ", ", pair), "]");
}

}  // namespace

std::map<std::string, std::string> ModelMetadata(
    const CheckpointManifest& manifest) {
  const nlohmann::json spec = nlohmann::json::parse(manifest.spec_json, nullptr,
                                                    /*allow_exceptions=*/false);
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"paceline_version", manifest.paceline_version},
      {"job", manifest.job},
      {"model", FieldOf(spec, "model")},
      {"data", FieldOf(spec, "data")},
      {"samples", absl::StrCat(manifest.samples)},
      {"version", absl::StrCat(manifest.version)},
  };
  if (manifest.evaluation_json != "{}") {
    metadata["evaluation"] = manifest.evaluation_json;
  }
  const std::vector<Normalization> channels = NormalizationOf(metadata["data"]);
  if (!channels.empty()) {
    metadata["normalization"] = NormalizationText(channels);
  }
  std::erase_if(metadata,
                [](const auto& entry) { return entry.second.empty(); });
  return metadata;
}

}  // namespace paceline
