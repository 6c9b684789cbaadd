#ifndef PACELINE_SERVICES_WORKER_OPEN_EXCHANGES_H_
#define PACELINE_SERVICES_WORKER_OPEN_EXCHANGES_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace paceline {

// What is open at one server, by number; 0: nothing.
struct OpenAtServer {
  uint64_t set = 0;
  uint64_t push = 0;  // The iteration.
  uint64_t pull = 0;  // The request.
  // Of that, a bit for each part whose end has not come.
  uint32_t pull_parts = 0;
  // Of a block that did not stand while it was copied, the array has a mixture,
  // until a pull has brought it.
  bool torn = false;
};

// Which exchanges are open at which server, and when something of them last
// came or went. A server whose streams break keeps what is open there. Of
// several streams to a server each may bring a part of a pull.
//
// What a new stream only repeats counts as coming and going too, but for a few
// breaks: what took minutes may take them again, but a link that lets no more
// through than before must not look alive for ever. Thread-compatible.
class OpenExchanges {
 public:
  using Kind = uint64_t OpenAtServer::*;

  // May be repeated. `pushed`: it gets a part of each push.
  void AddServer(size_t server, bool pushed);

  // At all servers that get a part of it. Another of its kind is over.
  void Begin(Kind kind, uint64_t number);
  void BeginAt(size_t server, Kind kind, uint64_t number);
  // The pull is asked there in so many parts, from 1, none of which has ended;
  // without that it has one. Nothing if another one is open there, or none.
  // REQUIRES: at most kMostConnections.
  void AskInParts(size_t server, uint64_t request, uint32_t parts);
  // At one; a pull once all of its parts have ended. False, and nothing, if it
  // was not open there, or that part was not.
  bool End(size_t server, Kind kind, uint64_t number, absl::Time now,
           uint32_t part = 0);
  // At all.
  void EndAll(Kind kind);

  const OpenAtServer& At(size_t server) const {
    return servers_.at(server).open;
  }
  // Servers at which it is open.
  size_t Count(Kind kind) const;
  // With what the stream of such a server broke that has no other one yet; OK
  // if there is none.
  absl::Status WhyNot(Kind kind) const;
  absl::Time last_progress() const { return last_progress_; }

  void Tear(size_t server) { servers_[server].open.torn = true; }
  void Mend(size_t server) { servers_[server].open.torn = false; }

  // Something has come from the server, or a frame has gone to it.
  void Came(size_t server, bool again, absl::Time now);
  void Went(size_t server, absl::Time now);

  // The server's stream broke with that, which is not OK; it has a new one.
  void Suspend(size_t server, const absl::Status& status);
  void Resume(size_t server);

 private:
  struct Server {
    bool pushed = false;
    OpenAtServer open;
    absl::Status broke_with;  // Not OK while it has no stream.
    int breaks = 0;           // Since something new came or went.
    // Frames that have gone out for what is open, by this stream, and the most
    // by any.
    size_t sent = 0;
    size_t most_sent = 0;
  };

  void Count(Server& server, bool again, absl::Time now);

  absl::flat_hash_map<size_t, Server> servers_;
  absl::Time last_progress_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_OPEN_EXCHANGES_H_
