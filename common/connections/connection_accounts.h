#ifndef PACELINE_COMMON_CONNECTIONS_CONNECTION_ACCOUNTS_H_
#define PACELINE_COMMON_CONNECTIONS_CONNECTION_ACCOUNTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// What the calls of one connection have come to. Those who answer calls write
// it, the door (door.h) compares it with what the kernel has received.
// Thread-safe.
class ConnectionAccount {
 public:
  // A message of it was accepted, of a call that was let in: it is no stranger.
  void Authorize() { authorized_.store(true, std::memory_order_relaxed); }

  // The application was given a message of `bytes`.
  void Take(size_t bytes) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    // The reader who sees the message sees its bytes.
    messages_.fetch_add(1, std::memory_order_release);
  }

  bool authorized() const {
    return authorized_.load(std::memory_order_relaxed);
  }
  uint64_t messages() const {
    return messages_.load(std::memory_order_acquire);
  }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> authorized_ = false;
  std::atomic<uint64_t> messages_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
};

// The accounts of a server's open connections, by the peer's address as gRPC
// writes it ("ipv4:10.0.0.7:5123"), which is all that a call knows of its
// connection. Thread-safe.
class ConnectionAccounts {
 public:
  // A new account, also in place of one whose connection is about to end.
  std::shared_ptr<ConnectionAccount> Open(absl::string_view peer);
  // Forgets it, if it is still the peer's.
  void Close(absl::string_view peer, const ConnectionAccount* account);

  // Null if nobody counts that connection.
  std::shared_ptr<ConnectionAccount> Find(absl::string_view peer) const;

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<ConnectionAccount>> by_peer_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_CONNECTION_ACCOUNTS_H_
