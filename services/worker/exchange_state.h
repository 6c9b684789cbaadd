#ifndef PACELINE_SERVICES_WORKER_EXCHANGE_STATE_H_
#define PACELINE_SERVICES_WORKER_EXCHANGE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/tensor/payload.h"
#include "services/worker/open_exchanges.h"
#include "services/worker/open_pull.h"

namespace paceline {

// What the servers have made of a push.
struct TakenPush {
  uint32_t refused = 0;  // Blocks of which nothing was applied.
  // The sum of the squares of the gradient; nothing: not all servers know it.
  std::optional<double> gradient_square = std::nullopt;
};

// Where the exchange with the parameter servers stands: what the worker's
// thread waits for, and what the servers' replies bring. Knows no streams, so
// the reactions of streams and the waiting thread can be tested without any.
//
// At most one pull, one push and one setting of starting values are open at a
// time; each is open at every server until that one has answered. A server may
// answer a pull in parts, by several streams: then all of them must have ended.
// Thread-safe.
//
// A pull may begin ahead of the wait for it, while nobody knows yet whether its
// weights will be wanted. What comes before it is delivered, or waited for, is
// laid aside: until then the arrays keep what they hold.
//
// A wait ends on silence, not after a time in all: how long a model takes is up
// to its size and the links, and nobody would come to an end that another limit
// cuts off, again and again. Time in which this process stands still is no
// silence of others.
//
// A server whose streams break is suspended until it is dialled again: what is
// open there stays open, waits go on, and end by silence as they would.
class ExchangeState {
 public:
  // `clock` outlives the state.
  explicit ExchangeState(const Clock* clock = &Clock::Real()) : clock_(clock) {}

  // REQUIRES: before any other call, from one thread.
  // INVALID_ARGUMENT if the block was added before.
  absl::Status AddBlock(uint32_t block, const BlockPlace& place);
  // The servers that host at least one block.
  size_t servers() const { return blocks_of_.size(); }
  bool Hosts(size_t server) const { return blocks_of_.contains(server); }

  // The worker's thread. Each Await returns the exchange's result, the status
  // with which a stream broke for good, or UNAVAILABLE once nothing has come or
  // gone for `silence`. If a server is suspended then, the message says with
  // what, and that is for good too.
  // AwaitPull calls on_tensor with each tensor as soon as all its blocks have
  // arrived, while others have not: in the thread that heard the last of them,
  // one call at a time, and none once AwaitPull has returned. `whole`: with the
  // blocks that are not pushed, which never change. `ahead`: it may be dropped.
  uint64_t BeginPull(bool whole = true, bool ahead = false);
  // From now on as if AwaitPull was called with that, which goes on with it. By
  // any thread, but not beside the worker's own call.
  void DeliverPull(OnTensor on_tensor);
  void DropPull();  // Nobody is told of it any more.
  // As that of OpenExchanges; before the server is asked, or asked again.
  void AskInParts(size_t server, uint64_t request, uint32_t parts);
  absl::StatusOr<PullResult> AwaitPull(absl::Duration silence,
                                       OnTensor on_tensor = nullptr);
  // AwaitPush returns what the servers have said of it. Before that on_taken is
  // called with it, where it was heard from the last server, or at once: so
  // whoever is told need not wait until the worker's thread has woken up.
  void BeginPush(int64_t iteration);  // From 1.
  void WhenTaken(std::function<void(const TakenPush&)> on_taken);
  absl::StatusOr<TakenPush> AwaitPush(absl::Duration silence);
  // The blocks that were refused of the push that was awaited last.
  std::vector<uint32_t> refused();
  uint64_t BeginSet();  // Its number.
  // At one server alone; nobody waits for it, and others may have their own.
  uint64_t BeginSetAt(size_t server);
  absl::Status AwaitSet(absl::Duration silence);

  // The worker is to leave: the open pull and all later ones end with `status`,
  // which is not OK. What it has pushed is still acknowledged.
  void EndPulls(const absl::Status& status);

  // The reactions, of a server that hosts something. What belongs to an
  // exchange that is no longer open is ignored. INVALID_ARGUMENT for a block
  // that is not the server's, that came before in this pull by the same stream
  // or whose payload has another size: the stream is to be broken.
  //
  // One that had come before the stream broke stays: its tensor may be in use.
  // UNAVAILABLE if, once it was read, it had not `stood`: it has not come then.
  absl::Status Pulled(
      size_t server, uint64_t request, uint32_t block, const Payload& payload,
      DType dtype, absl::FunctionRef<bool()> stood = [] { return true; });
  // `parked`: how long the server says it held that part back.
  void PullEnded(size_t server, uint64_t request, const absl::Status& status,
                 absl::Duration parked, uint32_t part = 0);
  // `refused`: the blocks of which nothing was applied; `square`: of TakenPush,
  // as far as it is that server's.
  void PushTaken(size_t server, int64_t iteration,
                 absl::Span<const uint32_t> refused,
                 std::optional<double> square = std::nullopt);
  void SetTaken(size_t server);
  void Sent(size_t server);  // A frame to it has gone out.

  // Its streams end with `status`, which is not OK, and are dialled again.
  void Suspended(size_t server, const absl::Status& status);
  // It begins anew, and nothing of the old one comes any more: what is to be
  // asked and pushed again.
  OpenAtServer Resumed(size_t server);
  // All waits end, for good, with `status`, which is not OK.
  void Broken(const absl::Status& status);
  bool broken();
  OpenAtServer OpenAt(size_t server);
  // Whether somebody is in an Await.
  bool waiting();

 private:
  using Kind = OpenExchanges::Kind;

  // Waits for all servers to end it, or for what makes waiting useless.
  absl::Status Await(Kind kind, absl::string_view what, absl::Duration silence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why nothing comes.
  absl::Status Silent(Kind kind, absl::string_view what, absl::Duration silence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  TakenPush Taken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls on_taken_, if there is one, once all have taken it. Unlocks
  // meanwhile.
  void TellTaken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls on_tensor, if there is one, with what has arrived. Unlocks meanwhile.
  void TellArrived() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A block of the open pull lies where it belongs, or did not stand.
  void Copied(uint64_t request, size_t tensor) ABSL_LOCKS_EXCLUDED(mu_);
  void Torn(size_t server) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status NotCopied(uint64_t request, uint32_t block, size_t bytes);
  // Brings what was laid aside to where it belongs. Unlocks meanwhile.
  void Deliver(OnTensor on_tensor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndDelivery() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  absl::flat_hash_map<uint32_t, BlockPlace> places_;  // Constant once used.
  absl::flat_hash_map<size_t, size_t> blocks_of_;     // By server; the same.
  std::vector<size_t> blocks_in_;                     // By tensor; the same.

  absl::Mutex mu_;
  OpenExchanges open_ ABSL_GUARDED_BY(mu_);
  absl::Status broken_ ABSL_GUARDED_BY(mu_);
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;

  uint64_t request_ ABSL_GUARDED_BY(mu_) = 0;
  OpenPull pull_ ABSL_GUARDED_BY(mu_);
  // Its on_tensor is being called, or what was laid aside is brought in place.
  bool telling_arrived_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status pulls_ended_ ABSL_GUARDED_BY(mu_);

  std::vector<uint32_t> refused_ ABSL_GUARDED_BY(mu_);  // Blocks.
  std::optional<double> square_ ABSL_GUARDED_BY(mu_);   // So far.
  std::function<void(const TakenPush&)> on_taken_ ABSL_GUARDED_BY(mu_);
  bool telling_taken_ ABSL_GUARDED_BY(mu_) = false;  // It is being called.
  uint64_t setting_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_EXCHANGE_STATE_H_
