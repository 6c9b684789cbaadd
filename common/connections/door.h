#ifndef PACELINE_COMMON_CONNECTIONS_DOOR_H_
#define PACELINE_COMMON_CONNECTIONS_DOOR_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/connections/connection_accounts.h"
#include "common/connections/connection_budget.h"
#include "common/connections/tcp_listener.h"
#include "common/unique_fd.h"

namespace paceline {

// Lets connections in, and ends those that send more than may wait in memory
// (connection_budget.h says which). It accepts them itself and hands them to
// the transport; of each it keeps a second descriptor, by which it asks the
// kernel every 10 ms how much the transport has read, as long as anything is
// received, and less often where there are more than 200; five times as often
// while what may be owed fills up.
//
// While more is on its way out than strangers may owe together, it lets nobody
// in: they wait in the kernel. It does not give up: when descriptors run out,
// the oldest stranger is ended and accepting goes on. Thread-safe; it has two
// threads of its own.
class Door {
 public:
  struct Counts {
    size_t open = 0;
    size_t strangers = 0;
    bool operator==(const Counts& other) const = default;
  };

  struct Options {
    ConnectionBudget::Limits limits = {};
    // Of its connections alone; outlives it. Null: nothing is counted, no
    // connection is ended, and there are no limits but the system's.
    ConnectionAccounts* accounts = nullptr;
    // What happens, for metrics and logs, on the door's own threads; may be
    // empty. `peer`: "ipv4:10.0.0.7:5123".
    std::function<void(const Counts&)> on_counts = {};
    std::function<void(const std::string& peer, const ConnectionBudget::Cut&)>
        on_cut = {};
  };

  // Takes a connection over. Called on one thread, and never after Stop().
  using Serve = std::function<void(UniqueFd)>;

  Door(TcpListener listener, Options options, Serve serve);
  ~Door();

  // Nothing more is let in, and the port is free. Those that are in are watched
  // until the door dies, which the transport is to do first. More than once is
  // harmless.
  void Stop() ABSL_LOCKS_EXCLUDED(stop_mu_);

 private:
  using Id = ConnectionBudget::Id;
  struct Watched {
    UniqueFd fd;        // Another descriptor than the transport's,
    int transport = 0;  // which is this one,
    ino_t inode = 0;    // as long as it leads to the same socket.
    std::string peer;
    std::shared_ptr<ConnectionAccount> account;
    absl::Time ending = absl::InfiniteFuture();  // Since when.
  };
  struct Told {
    std::string peer;
    ConnectionBudget::Cut cut;
  };

  void Accept();
  // False: come back a little later.
  bool AcceptFrom(int listener);
  void Take(UniqueFd connection);
  bool Enter(int connection, const std::string& peer);
  // Another descriptor of the connection; none if there is none for a while.
  UniqueFd Second(int connection);
  void EndOldestStranger();
  bool StrangersOweTooMuch();

  void Watch();
  // What a look at all connections has found.
  struct Looked {
    bool connections = false;  // There are some.
    bool moved = false;    // Something was received, or waits in the kernel.
    absl::Duration pause;  // Until the next, if so.
  };
  // Has the allocator give back what was freed with the connections that were
  // cut. It would keep it, each thread's apart, and every attack by another
  // way would add to that.
  void GiveFreedBack() ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until it is time for the next look; false at the end.
  bool AwaitEvents(const Looked& looked);
  // Reads all connections, and cuts.
  Looked Sweep();
  bool Read(Id id, const Watched& watched, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It was cut, or its peer has gone; the transport will let go of it.
  void Ending(Id id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets those that the transport has let go of; whether some are left.
  bool SettleEnding(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Forget(Id id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndLocked(const ConnectionBudget::Cut& cut, std::vector<Told>& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell(const std::vector<Told>& told);
  void TellCounts();

  const Options options_;
  const Serve serve_;
  UniqueFd stop_accepting_;  // An event, set once.
  UniqueFd poke_;            // Another: ends a pause of the watching thread.
  UniqueFd epoll_;

  absl::Mutex mu_;
  ConnectionBudget budget_ ABSL_GUARDED_BY(mu_);
  std::map<Id, Watched> watched_ ABSL_GUARDED_BY(mu_);
  Id next_ ABSL_GUARDED_BY(mu_) = 1;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;

  // The watching thread's.
  bool holds_freed_ = false;  // Some was cut since it was last given back.
  absl::Time trimmed_ = absl::InfinitePast();

  absl::Mutex told_mu_;
  Counts told_ ABSL_GUARDED_BY(told_mu_);

  absl::Mutex stop_mu_;
  std::vector<UniqueFd> listeners_;  // The accepting thread's, then Stop()'s.
  std::thread watching_;
  std::thread accepting_ ABSL_GUARDED_BY(stop_mu_);
};

// Limits that leave descriptors for all else: a connection takes two of those
// that the process may have.
ConnectionBudget::Limits FitDescriptors(ConnectionBudget::Limits limits);

// Lets the process have as many descriptors as the system allows it at all
// (its hard limit): the usual soft limit of 1,024 is for programs that use
// select(), and ends at 384 connections. To be called once, by main.
void RaiseDescriptorLimit();

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_DOOR_H_
