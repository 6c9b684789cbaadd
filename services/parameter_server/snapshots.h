#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SNAPSHOTS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SNAPSHOTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/block_state.h"

namespace paceline {

// Bytes that several owners may take together. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t max) : max_(max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // False, and nothing is taken, if there are not so many left.
  bool Take(uint64_t bytes) {
    absl::MutexLock lock(&mu_);
    if (bytes > max_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  // REQUIRES: they were taken.
  void GiveBack(uint64_t bytes) {
    absl::MutexLock lock(&mu_);
    taken_ -= bytes;
  }

  uint64_t max() const { return max_; }
  uint64_t taken() const {
    absl::MutexLock lock(&mu_);
    return taken_;
  }

 private:
  const uint64_t max_;
  mutable absl::Mutex mu_;
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
};

// The snapshots held for a job, by id. Each is a list of references, so one
// costs memory only for the blocks that are updated while it is held; the bound
// counts every distinct state once, as if all of them were. Thread-compatible.
class Snapshots {
 public:
  // `budget` is shared with the other jobs of the server.
  Snapshots(size_t max_count, std::shared_ptr<ByteBudget> budget)
      : max_count_(max_count), budget_(std::move(budget)) {}
  ~Snapshots() { budget_->GiveBack(bytes_); }

  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // RESOURCE_EXHAUSTED if one of the bounds would be exceeded, ALREADY_EXISTS
  // if the id is in use; nothing is held then.
  absl::Status Add(uint64_t id, PulledBlocks blocks);

  // Null if there is none. Valid until the next Add() or Release().
  const PulledBlocks* Find(uint64_t id) const;

  // Takes a snapshot out; empty if there is none. The caller drops what it gets
  // outside its locks: freeing a model takes time.
  PulledBlocks Release(uint64_t id);

  size_t size() const { return snapshots_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  const size_t max_count_;
  const std::shared_ptr<ByteBudget> budget_;
  uint64_t bytes_ = 0;
  absl::flat_hash_map<uint64_t, PulledBlocks> snapshots_;
  // In how many snapshots each state is; its address is not reused meanwhile.
  absl::flat_hash_map<const BlockState*, size_t> references_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SNAPSHOTS_H_
