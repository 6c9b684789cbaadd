#include "common/metrics/scraper.h"

#include <prometheus/text_serializer.h>
#include <zlib.h>

#include <iterator>
#include <optional>
#include <utility>

namespace paceline {
namespace {

// The window of the largest size, with a header of gzip's.
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

// Nothing if there is no memory for it.
std::optional<std::string> Gzip(const std::string& text) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow,
                   kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib only reads from there.
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace

Scraper::Scraper(std::vector<std::shared_ptr<prometheus::Collectable>> sources)
    : sources_(std::move(sources)), queue_(/*threads=*/1, /*waiting_max=*/1) {}

void Scraper::Ask(bool gzip, Done done) {
  absl::MutexLock lock(&mu_);
  asked_.push_back({gzip, std::move(done)});
  // For the others it waits already.
  if (asked_.size() == 1) queue_.Submit([this] { Write(); });
}

void Scraper::Write() {
  std::vector<Asked> asked;
  {
    absl::MutexLock lock(&mu_);
    asked.swap(asked_);
  }
  std::vector<prometheus::MetricFamily> families;
  for (const auto& source : sources_) {
    auto collected = source->Collect();
    families.insert(families.end(), std::make_move_iterator(collected.begin()),
                    std::make_move_iterator(collected.end()));
  }
  const std::string text = prometheus::TextSerializer().Serialize(families);
  std::optional<std::string> gzipped;
  for (Asked& each : asked) {
    if (each.gzip && !gzipped.has_value()) gzipped = Gzip(text);
    if (each.gzip && gzipped.has_value()) {
      std::move(each.done)({*gzipped, true});
    } else {
      std::move(each.done)({text, false});
    }
  }
}

}  // namespace paceline
