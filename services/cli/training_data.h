#ifndef PACELINE_SERVICES_CLI_TRAINING_DATA_H_
#define PACELINE_SERVICES_CLI_TRAINING_DATA_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "services/worker/data/dataset.h"

namespace paceline {

// Both splits of what --data names, and what a model for them takes.
struct TrainingData {
  Dataset train;
  Dataset test;
  int64_t model_bytes = 0;  // All its parameters take so many.
};

// Loads the data that `data` names and makes the model `model` for it, as every
// worker will, so that a mistake is reported before anything is started.
//   NOT_FOUND: a file does not exist.
//   Otherwise what loading or making them found wrong, naming --data, or
//   `model_flag`.
absl::StatusOr<TrainingData> LoadTrainingData(const std::string& data,
                                              const std::string& model,
                                              absl::string_view model_flag);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TRAINING_DATA_H_
