#include "common/log/log_ring.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "common/utf8.h"

namespace paceline {
namespace {

size_t BytesOf(const LogEntry& entry) {
  size_t bytes = entry.message.size();
  for (const auto& [key, value] : entry.fields) {
    bytes += key.size() + value.size();
  }
  return bytes;
}

// UTF-8 in any case.
void Mend(std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), absl::ascii_isascii);
  if (plain) return;
  using Json = nlohmann::json;
  text = Json::parse(
             Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
             .get<std::string>();
}

// At most so many bytes are left of the text, and so many fewer of them.
bool CutTo(std::string& text, size_t& left) {
  const size_t size = CutUtf8(text, left).size();
  const bool cut = size < text.size();
  text.resize(size);
  left -= size;
  return cut;
}

}  // namespace

void LogRing::Cut(LogEntry& entry) const {
  size_t left = limits_.line_bytes;
  entry.cut |= CutTo(entry.message, left);
  size_t kept = 0;
  for (auto& [key, value] : entry.fields) {
    if (key.size() >= left) break;
    left -= key.size();
    ++kept;
    entry.cut |= CutTo(value, left);
  }
  entry.cut |= kept < entry.fields.size();
  entry.fields.resize(kept);
}

void LogRing::Add(LogEntry entry) {
  Mend(entry.message);
  for (auto& [key, value] : entry.fields) {
    Mend(key);
    Mend(value);
  }
  if (BytesOf(entry) > limits_.line_bytes) Cut(entry);
  std::deque<LogEntry> forgotten;  // Is freed without the lock.
  absl::MutexLock lock(&mu_);
  bytes_ += BytesOf(entry);
  entries_.push_back(std::move(entry));
  while (entries_.size() > limits_.lines || bytes_ > limits_.bytes) {
    bytes_ -= BytesOf(entries_.front());
    forgotten.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
}

std::vector<LogEntry> LogRing::Last(size_t most) const {
  absl::MutexLock lock(&mu_);
  const size_t count = std::min(most, entries_.size());
  return {entries_.end() - static_cast<std::ptrdiff_t>(count), entries_.end()};
}

void RingLines::Add(absl::string_view text, absl::Time now) {
  if (ring_ == nullptr) return;
  const size_t most = ring_->limits().line_bytes;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view part = text.substr(0, end);
    const size_t taken = std::min(part.size(), most - line_.size());
    line_.append(part.data(), taken);
    cut_ |= taken < part.size();
    if (end == absl::string_view::npos) return;
    End(now);
    text.remove_prefix(end + 1);
  }
}

void RingLines::End(absl::Time now) {
  absl::StripTrailingAsciiWhitespace(&line_);
  if (ring_ != nullptr && !line_.empty()) {
    LogEntry entry;
    entry.time = now;
    entry.message = std::move(line_);
    entry.cut = cut_;
    ring_->Add(std::move(entry));
  }
  line_.clear();
  cut_ = false;
}

}  // namespace paceline
