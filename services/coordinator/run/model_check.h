#ifndef PACELINE_SERVICES_COORDINATOR_RUN_MODEL_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_MODEL_CHECK_H_

#include <google/protobuf/repeated_field.h>

#include "absl/status/status.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// Whether a worker's model can be one: the coordinator cuts it into blocks and
// writes it into manifests before anybody else looks at it. INVALID_ARGUMENT,
// naming the tensor, unless names are there and used once, sizes are the
// products of their shapes, and all of it is at most a terabyte of fp32.
absl::Status CheckModel(
    const google::protobuf::RepeatedPtrField<v1::TensorSpec>& tensors);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_MODEL_CHECK_H_
