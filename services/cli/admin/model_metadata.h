#ifndef PACELINE_SERVICES_CLI_ADMIN_MODEL_METADATA_H_
#define PACELINE_SERVICES_CLI_ADMIN_MODEL_METADATA_H_

#include <map>
#include <string>

#include "common/checkpoint/manifest.h"

namespace paceline {

// What an exported model says of itself in the header of its file, so that one
// can use it without the job: `format` ("pt": names and shapes are torch's),
// `paceline_version`, `job`, `model`, `data`, `samples`, `version` and
// `evaluation` as in the manifest, the last one as JSON; and for a built-in
// data set `normalization`, a JSON array of [mean, deviation] for each channel:
// an input is (byte / 255 - mean) / deviation. One pair stands for all channels
// of drawn images. Left out is what the manifest does not know.
std::map<std::string, std::string> ModelMetadata(
    const CheckpointManifest& manifest);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_MODEL_METADATA_H_
