#include "services/coordinator/jobs/digest.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "common/check.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace paceline {

std::string Digest(absl::string_view bytes) {
  unsigned char sha[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), sha, &size, EVP_sha256(),
                   nullptr) == 1);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(sha), size / 2));
}

std::string DigestOf(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream to(&bytes);
    google::protobuf::io::CodedOutputStream coded(&to);
    coded.SetSerializationDeterministic(true);  // Maps in the order of keys.
    message.SerializePartialToCodedStream(&coded);
  }
  return Digest(bytes);
}

std::string EtagOf(const v1::Job& job) {
  v1::Job tagged = job;
  tagged.clear_progress();
  tagged.clear_etag();
  tagged.clear_restore_from();
  return DigestOf(tagged);
}

}  // namespace paceline
