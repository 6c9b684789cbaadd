#include "common/object_store/object_reader.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

// The first look at an object, and the least that is fetched of it.
constexpr uint64_t kSmallPiece = uint64_t{64} << 10;
// What is read one after the other.
constexpr uint64_t kLargePiece = uint64_t{16} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectReader>> ObjectReader::Open(
    S3Client* client, const S3Uri& object) {
  PACELINE_ASSIGN_OR_RETURN(
      ObjectRange first,
      client->Get(object, 0, kSmallPiece, "", Patience::kShort));
  return absl::WrapUnique(new ObjectReader(client, object, std::move(first)));
}

ObjectReader::ObjectReader(S3Client* client, S3Uri object, ObjectRange first)
    : client_(client),
      object_(std::move(object)),
      path_(FormatS3Uri(object_)),
      size_(first.object_bytes),
      etag_(std::move(first.etag)) {
  absl::MutexLock lock(&mu_);
  pieces_[0].bytes = std::move(first.bytes);
}

absl::StatusOr<const ObjectReader::Piece*> ObjectReader::PieceAt(
    uint64_t offset, uint64_t wanted) const {
  bool goes_on = false;
  for (Piece& piece : pieces_) {
    if (offset >= piece.begin && offset < piece.end()) {
      piece.last_use = ++uses_;
      return &piece;
    }
    goes_on = goes_on || (!piece.bytes.empty() && offset == piece.end());
  }
  // A long read is one after the other in itself.
  const uint64_t least = goes_on ? kLargePiece : kSmallPiece;
  const uint64_t fetched =
      std::min(size_ - offset, std::clamp(wanted, least, kLargePiece));
  PACELINE_ASSIGN_OR_RETURN(
      ObjectRange range,
      client_->Get(object_, offset, fetched, etag_, Patience::kLong));
  if (range.bytes.size() != fetched) {
    return absl::DataLossError(absl::StrCat(path_, ": of ", fetched,
                                            " bytes from ", offset, " on ",
                                            range.bytes.size(), " came"));
  }
  Piece& oldest = *std::ranges::min_element(pieces_, {}, &Piece::last_use);
  oldest = {offset, std::move(range.bytes), ++uses_};
  return &oldest;
}

absl::Status ObjectReader::Read(uint64_t offset, absl::Span<char> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return absl::DataLossError(absl::StrCat(path_, " ends at byte ", size_,
                                            ", where more are expected behind ",
                                            offset, ": it has been cut off"));
  }
  absl::MutexLock lock(&mu_);
  while (!out.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const Piece* piece, PieceAt(offset, out.size()));
    const uint64_t begin = offset - piece->begin;
    const size_t now =
        std::min<uint64_t>(piece->bytes.size() - begin, out.size());
    std::copy_n(piece->bytes.data() + begin, now, out.data());
    out.remove_prefix(now);
    offset += now;
  }
  return absl::OkStatus();
}

}  // namespace paceline
