#include "tests/services/coordinator/ledger_sink.h"

#include <variant>

#include "gtest/gtest.h"

namespace paceline {

LedgerSink::LedgerSink(uint32_t workers, const SyncOptions& options)
    : train_samples_(options.train_samples),
      grants_of_(workers + 1),
      uses_(size_t{options.train_samples} * options.epochs) {}

Mailbox<Grant>& LedgerSink::GrantsOf(WorkerId worker) {
  return grants_of_.at(ToNumber(worker));
}

void LedgerSink::Perform(const Output& output) {
  EXPECT_EQ(finishes_, 0) << "an output after the last one";
  std::visit([this](const auto& what) { Book(what); }, output);
}

void LedgerSink::Book(const Grant& grant) {
  ++grants_;
  EXPECT_TRUE(open_.emplace(grant.worker, grant).second)
      << "two open grants of worker " << ToNumber(grant.worker);
  EXPECT_EQ(grant.base_version, version_);
  EXPECT_EQ(grant.closing, closing_);
  GrantsOf(grant.worker).Put(grant);
}

void LedgerSink::Book(const CloseCommand& close) {
  EXPECT_EQ(close.closing, ++closing_);
  ++version_;
}

void LedgerSink::Book(const FenceCommand& fence) { fences_.Put(fence.worker); }

void LedgerSink::Book(const SnapshotCommand& snapshot) {
  EXPECT_EQ(snapshot.version, version_);
  EXPECT_EQ(snapshot.samples, samples_);
}

void LedgerSink::Book(const Evicted& evicted) { evictions_.Put(evicted); }

void LedgerSink::Book(const PushCounted& counted) {
  const auto it = open_.find(counted.worker);
  ASSERT_NE(it, open_.end()) << "a push without a grant is counted";
  const Grant& grant = it->second;
  EXPECT_EQ(counted.staleness, version_ - grant.base_version);
  if (grant.plan.kind == PushPlan::Kind::kImmediate) ++version_;
  EXPECT_EQ(counted.version, version_);
  ++counted_;
  samples_ += counted.samples;
  const size_t first =
      size_t{grant.range.epoch} * train_samples_ + grant.range.begin;
  for (uint32_t i = 0; i < counted.samples; ++i) ++uses_.at(first + i);
  open_.erase(it);
}

void LedgerSink::Book(const Recorded& recorded) {
  if (recorded.decision.kind != DecisionKind::kRangeReturned) return;
  ++returned_;
  EXPECT_EQ(open_.erase(recorded.decision.worker), 1u);
}

void LedgerSink::Book(const Finished&) {
  ++finishes_;
  for (Mailbox<Grant>& grants : grants_of_) grants.Close(absl::OkStatus());
  fences_.Close(absl::OkStatus());
  finished_.Notify();
}

}  // namespace paceline
