#ifndef PACELINE_COMMON_CONNECTIONS_CONNECTION_BUDGET_H_
#define PACELINE_COMMON_CONNECTIONS_CONNECTION_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// Why a connection is ended by the door.
enum class CutReason {
  kTooMuch,        // More was sent on it than may wait.
  kTooMuchInAll,   // All of its kind together; it had sent the most.
  kCrowded,        // A stranger gave way to a newer connection.
  kNoDescriptors,  // The same, because the process has no descriptor left.
  kNoPlace,        // It was not let in: only known connections are open.
};
inline constexpr CutReason kCutReasons[] = {
    CutReason::kTooMuch, CutReason::kTooMuchInAll, CutReason::kCrowded,
    CutReason::kNoDescriptors, CutReason::kNoPlace};

// "too_much", for labels and logs.
absl::string_view NameOf(CutReason reason);

// Decides which connections of a server are ended so that what waits in its
// memory stays bounded. gRPC keeps a message until it is whole, however large
// it says to be, and only then looks at its limit; so a connection *owes* what
// the transport has read of it and the application was not given yet.
//
// There are two kinds of connections. Of a *stranger* no message was accepted
// yet; it owes everything that it ever sent, so that it can earn nothing by
// calls that are refused. Of a *known* one the messages are taken off, with
// more for what travels beside them (headers, TLS records, pings, window
// updates), but never below zero: nobody saves up. More is allowed for than any
// honest peer needs, for an honest one must not be cut by rounding.
//
// Pure: knows no socket and no clock. Not thread-safe.
class ConnectionBudget {
 public:
  using Id = uint64_t;

  // In bytes.
  struct Share {
    int64_t each = 0;    // What one connection may owe.
    int64_t in_all = 0;  // What all of this kind may; but never less than
    int64_t honest = 0;  // this for each of them, which a fair peer may need.
  };
  struct Limits {
    Share strangers = {.each = 8 << 20, .in_all = 12 << 20};
    Share known = {.each = 16 << 20, .in_all = 24 << 20};
    // Open connections.
    size_t connections = 20'000;
    size_t strangers_open = 1'000;
    size_t strangers_of_one_address = 500;
  };

  // What is known of a connection; all of it only grows.
  struct Reading {
    uint64_t received = 0;  // Bytes that the transport has read.
    uint64_t sent = 0;      // Bytes that the peer has acknowledged.
    // What the application was given, read before `received`: so it never runs
    // ahead of it, and nothing is taken off before it was counted.
    uint64_t messages = 0;
    uint64_t message_bytes = 0;
    // The same read after `received`: so nobody is cut for what was received
    // between the two, however long the reader was kept from its processor.
    // Nothing: as before.
    uint64_t later_messages = 0;
    uint64_t later_message_bytes = 0;
    bool authorized = false;  // Read last.
  };

  struct Cut {
    Id id = 0;
    CutReason reason = CutReason::kTooMuch;
    bool stranger = true;
    int64_t owed = 0;
  };

  explicit ConnectionBudget(const Limits& limits) : limits_(limits) {}

  // A connection from `address`, without its port. REQUIRES: `id` is larger
  // than all before.
  void Open(Id id, absl::string_view address);
  // It is about to go: nobody's choice any more, but the transport still holds
  // what it owes. A connection that is cut is one of these.
  void Ending(Id id);
  // It is gone.
  void Close(Id id);

  // The stranger, if any, that is to make room before one more connection from
  // `address` is opened. `full`: there is no room even then.
  struct Room {
    std::optional<Cut> gives_way;
    bool full = false;
  };
  Room MakeRoomFor(absl::string_view address);
  // The oldest stranger, if there is one.
  std::optional<Cut> OldestStranger();

  // False if nothing was received since the last reading.
  bool Read(Id id, const Reading& reading, absl::Time now);
  // A message of it was accepted; also a reading says that.
  void Authorize(Id id);

  // Whom to cut after all have been read, each once: those that surely owe
  // more than one may, then whoever owes the most until all together, with
  // those that were ending before, owe what they may. For the sake of those
  // that are ending, nobody is cut who owes less than 64 KiB.
  std::vector<Cut> Exceeding();

  // Whether strangers owe so much that no other should be let in: what was cut
  // is not gone yet.
  bool StrangersOweTooMuch() const;

  // Whether of either kind a quarter of what all may owe is owed: the rest may
  // come soon.
  bool FillsUp() const;

  size_t open() const { return connections_.size(); }
  size_t strangers() const { return strangers_; }
  int64_t owed(Id id) const;

 private:
  struct Connection {
    std::string address;
    bool stranger = true;
    bool ending = false;
    int64_t owed = 0;
    int64_t surely_owed = 0;  // Less what was taken during the reading.
    Reading last;
    absl::Time read_at = absl::InfinitePast();
  };

  // What all of this kind that are open may owe.
  int64_t AllowedInAll(bool strangers) const;
  // `before`: what those owe that were ending already.
  void CutTheLargest(bool strangers, int64_t before, std::vector<Cut>& cuts);
  int64_t OwedByEnding(bool strangers) const;
  static Cut MakeCut(Id id, Connection& connection, CutReason reason);

  const Limits limits_;
  std::map<Id, Connection> connections_;  // The oldest first.
  size_t strangers_ = 0;
  absl::flat_hash_map<std::string, size_t> strangers_of_;  // By address.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_CONNECTION_BUDGET_H_
