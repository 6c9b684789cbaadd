#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_DIGEST_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_DIGEST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// The first half of the SHA-256 of `bytes`, as 32 hexadecimal digits: the same
// in every process.
std::string Digest(absl::string_view bytes);

// Of a message's content: equal messages have equal digests.
std::string DigestOf(const google::protobuf::MessageLite& message);

// The etag of a job as it is: of all its fields but `progress`, `etag` and
// `restore_from`, which each of its checkpoints changes while it runs.
std::string EtagOf(const v1::Job& job);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_DIGEST_H_
