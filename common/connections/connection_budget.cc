#include "common/connections/connection_budget.h"

#include <algorithm>
#include <array>
#include <utility>

namespace paceline {
namespace {

// What a known connection may send beside its messages.
constexpr uint64_t kBesideAMessage = 1024;  // Headers, prefixes.
constexpr uint64_t kShareOfMessages = 8;    // One part in so many: frames.
constexpr uint64_t kShareOfSent = 8;        // Window updates.
constexpr double kBytesASecond = 256;       // Pings.

// What is not worth a cut while others are on their way out.
constexpr int64_t kSpared = 64 << 10;

int64_t MessagesWithAll(uint64_t messages, uint64_t bytes) {
  return static_cast<int64_t>(bytes + bytes / kShareOfMessages +
                              messages * kBesideAMessage);
}

}  // namespace

absl::string_view NameOf(CutReason reason) {
  switch (reason) {
    case CutReason::kTooMuch:
      return "too_much";
    case CutReason::kTooMuchInAll:
      return "too_much_in_all";
    case CutReason::kCrowded:
      return "crowded";
    case CutReason::kNoDescriptors:
      return "no_descriptors";
    case CutReason::kNoPlace:
      return "no_place";
  }
  return "unknown";
}

void ConnectionBudget::Open(Id id, absl::string_view address) {
  Connection& connection = connections_[id];
  connection.address = std::string(address);
  ++strangers_;
  ++strangers_of_[connection.address];
}

void ConnectionBudget::Ending(Id id) {
  const auto it = connections_.find(id);
  if (it != connections_.end()) it->second.ending = true;
}

void ConnectionBudget::Close(Id id) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  Authorize(id);  // So that it counts as a stranger no more.
  connections_.erase(it);
}

void ConnectionBudget::Authorize(Id id) {
  const auto it = connections_.find(id);
  if (it == connections_.end() || !it->second.stranger) return;
  it->second.stranger = false;
  --strangers_;
  const auto of = strangers_of_.find(it->second.address);
  if (--of->second == 0) strangers_of_.erase(of);
}

ConnectionBudget::Cut ConnectionBudget::MakeCut(Id id, Connection& connection,
                                                CutReason reason) {
  connection.ending = true;
  return {.id = id,
          .reason = reason,
          .stranger = connection.stranger,
          .owed = connection.owed};
}

ConnectionBudget::Room ConnectionBudget::MakeRoomFor(
    absl::string_view address) {
  const auto of = strangers_of_.find(address);
  const bool crowded_address = of != strangers_of_.end() &&
                               of->second >= limits_.strangers_of_one_address;
  const bool full = connections_.size() >= limits_.connections;
  if (!crowded_address && !full && strangers_ < limits_.strangers_open) {
    return {};
  }
  for (auto& [id, connection] : connections_) {
    if (!connection.stranger || connection.ending) continue;
    if (crowded_address && connection.address != address) continue;
    return {.gives_way = MakeCut(id, connection, CutReason::kCrowded)};
  }
  // Others may be about to go, but are not gone.
  return {.gives_way = std::nullopt, .full = full};
}

std::optional<ConnectionBudget::Cut> ConnectionBudget::OldestStranger() {
  for (auto& [id, connection] : connections_) {
    if (connection.stranger && !connection.ending) {
      return MakeCut(id, connection, CutReason::kNoDescriptors);
    }
  }
  return std::nullopt;
}

bool ConnectionBudget::Read(Id id, const Reading& reading, absl::Time now) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return false;
  Connection& connection = it->second;
  const Reading& last = connection.last;
  if (reading.authorized) Authorize(id);
  // The transport's own reading is seen a moment late, so it may seem to go
  // back.
  const auto received = static_cast<int64_t>(reading.received - last.received);
  int64_t allowed = 0;
  if (!connection.stranger) {
    allowed = MessagesWithAll(reading.messages - last.messages,
                              reading.message_bytes - last.message_bytes) +
              static_cast<int64_t>((reading.sent - last.sent) / kShareOfSent);
    if (connection.read_at > absl::InfinitePast()) {
      allowed += static_cast<int64_t>(
          absl::ToDoubleSeconds(now - connection.read_at) * kBytesASecond);
    }
  }
  connection.owed = std::max(int64_t{0}, connection.owed + received - allowed);
  connection.surely_owed = connection.owed;
  if (!connection.stranger && reading.later_messages > reading.messages) {
    connection.surely_owed -=
        MessagesWithAll(reading.later_messages - reading.messages,
                        reading.later_message_bytes - reading.message_bytes);
  }
  connection.last = reading;
  connection.read_at = now;
  return received != 0;
}

std::vector<ConnectionBudget::Cut> ConnectionBudget::Exceeding() {
  std::vector<Cut> cuts;
  const int64_t of_strangers = OwedByEnding(/*strangers=*/true);
  const int64_t of_known = OwedByEnding(/*strangers=*/false);
  for (auto& [id, connection] : connections_) {
    const Share& share =
        connection.stranger ? limits_.strangers : limits_.known;
    if (!connection.ending && connection.surely_owed > share.each) {
      cuts.push_back(MakeCut(id, connection, CutReason::kTooMuch));
    }
  }
  CutTheLargest(/*strangers=*/true, of_strangers, cuts);
  CutTheLargest(/*strangers=*/false, of_known, cuts);
  return cuts;
}

int64_t ConnectionBudget::OwedByEnding(bool strangers) const {
  int64_t owed = 0;
  for (const auto& [id, connection] : connections_) {
    if (connection.ending && connection.stranger == strangers) {
      owed += connection.owed;
    }
  }
  return owed;
}

bool ConnectionBudget::StrangersOweTooMuch() const {
  int64_t owed = 0;
  for (const auto& [id, connection] : connections_) {
    if (connection.stranger) owed += connection.owed;
  }
  return owed > limits_.strangers.in_all;
}

bool ConnectionBudget::FillsUp() const {
  int64_t owed[2] = {};
  for (const auto& [id, connection] : connections_) {
    owed[connection.stranger ? 1 : 0] += connection.owed;
  }
  return std::ranges::any_of(std::array{false, true}, [&](bool strangers) {
    return owed[strangers ? 1 : 0] > AllowedInAll(strangers) / 4;
  });
}

int64_t ConnectionBudget::AllowedInAll(bool strangers) const {
  const Share& share = strangers ? limits_.strangers : limits_.known;
  const size_t open = strangers ? strangers_ : connections_.size() - strangers_;
  return std::max(share.in_all, static_cast<int64_t>(open) * share.honest);
}

void ConnectionBudget::CutTheLargest(bool strangers, int64_t before,
                                     std::vector<Cut>& cuts) {
  const int64_t allowed = AllowedInAll(strangers);
  int64_t in_all = before;
  for (const auto& [id, connection] : connections_) {
    if (!connection.ending && connection.stranger == strangers) {
      in_all += std::max(int64_t{0}, connection.surely_owed);
    }
  }
  if (in_all <= allowed) return;
  std::vector<std::pair<int64_t, Id>> largest_last;
  for (const auto& [id, connection] : connections_) {
    if (!connection.ending && connection.stranger == strangers) {
      largest_last.emplace_back(connection.surely_owed, id);
    }
  }
  std::sort(largest_last.begin(), largest_last.end());
  while (in_all > allowed && !largest_last.empty()) {
    const auto [owed, id] = largest_last.back();
    const int64_t of_others = in_all - before;
    if (owed < kSpared && of_others <= allowed) return;
    largest_last.pop_back();
    in_all -= owed;
    cuts.push_back(MakeCut(id, connections_.at(id), CutReason::kTooMuchInAll));
  }
}

int64_t ConnectionBudget::owed(Id id) const {
  const auto it = connections_.find(id);
  return it == connections_.end() ? 0 : it->second.owed;
}

}  // namespace paceline
