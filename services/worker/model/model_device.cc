#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "services/worker/model/model.h"

// A model on a device with a memory of its own.

namespace paceline {
namespace {

// 1 MiB: below it the start of a copy costs more than the copy.
constexpr int64_t kBucketFloats = int64_t{1} << 18;

// 4 MiB: what a replica's gradients take on the original's device at a time.
constexpr int64_t kCarryFloats = int64_t{1} << 20;

// Steps that are remembered at a time. A job has one batch size; with balanced
// batches it changes, and a size that does not come back costs only calls.
constexpr size_t kStepsMax = 32;

}  // namespace

absl::Status Model::AllocateHostSide(int64_t floats) {
  if (original_ != nullptr) {
    values_host_ = original_->values_host_;
    PACELINE_ASSIGN_OR_RETURN(
        carried_, original_->backend_.Allocate(std::min(floats, kCarryFloats)));
  } else {
    PACELINE_ASSIGN_OR_RETURN(values_host_, backend_.AllocateHost(floats));
  }
  PACELINE_ASSIGN_OR_RETURN(gradients_host_,
                            backend_.AllocateHost(PackedSize(wire_, floats)));
  PACELINE_ASSIGN_OR_RETURN(outcome_host_,
                            backend_.AllocateHost(2 * batch_max_));
  arrived_.resize(specs_.size());
  bucket_of_.resize(specs_.size());
  for (const GradientBucket& bucket : MakeBuckets(offsets_, kBucketFloats)) {
    for (size_t i = bucket.first; i < bucket.end; ++i) {
      bucket_of_[i] = buckets_.size();
    }
    Bucket& fetched = buckets_.emplace_back();
    fetched.part = bucket;
    fetched.waiting = bucket.end - bucket.first;
    PACELINE_ASSIGN_OR_RETURN(fetched.computed, backend_.MakeMark());
    PACELINE_ASSIGN_OR_RETURN(fetched.arrived, backend_.MakeMark());
  }
  for (std::unique_ptr<Mark>* mark : {&values_filled_, &values_read_,
                                      &outcome_computed_, &outcome_arrived_}) {
    PACELINE_ASSIGN_OR_RETURN(*mark, backend_.MakeMark());
  }
  return absl::OkStatus();
}

void Model::ParameterArrived(size_t tensor) {
  if (backend_.host_visible()) return;
  Bucket& bucket = buckets_[bucket_of_[tensor]];
  bucket.sent = false;
  if (arrived_[tensor]) return;
  arrived_[tensor] = true;
  if (--bucket.waiting == 0) CopyToDevice(bucket);
}

absl::Status Model::ParametersChanged() {
  if (backend_.host_visible()) return absl::OkStatus();
  for (Bucket& bucket : buckets_) {
    if (!bucket.sent) CopyToDevice(bucket);
    bucket.sent = false;  // Whatever is written next is new.
  }
  backend_.Set(*values_filled_, Lane::kUpload);
  return absl::OkStatus();
}

void Model::CopyToDevice(Bucket& bucket) {
  const GradientBucket& part = bucket.part;
  backend_.Follow(Lane::kUpload, *values_read_);
  backend_.Upload(Lane::kUpload,
                  HostSpan(values_host_->span().Sub(part.offset, part.size)),
                  values_->span().Sub(part.offset, part.size));
  for (size_t i = part.first; i < part.end; ++i) arrived_[i] = false;
  bucket.waiting = part.end - part.first;
  bucket.sent = true;
}

absl::StatusOr<BatchLoss> Model::ComputeThere(const StagedBatch& batch,
                                              const Pass& pass, float scale,
                                              const StepCalls& calls) {
  const bool fetching = calls.on_ready != nullptr;
  backend_.Follow(Lane::kCompute, *values_filled_);
  Queue(StepOf({.batch = batch.n,
                .slot = batch.slot,
                .scale = scale,
                .first = pass.beta == 0,
                .training = pass.training,
                .fetching = fetching}),
        batch, pass, scale, fetching);
  backend_.Set(*values_read_, Lane::kCompute);
  staging_.End();
  if (calls.meanwhile != nullptr) calls.meanwhile();
  PACELINE_RETURN_IF_ERROR(backend_.Await(*outcome_arrived_));
  const BatchLoss loss = LossOf(batch.n, *outcome_host_);
  if (!fetching) {
    if (calls.between_tensors == nullptr) return loss;
    PACELINE_RETURN_IF_ERROR(backend_.Synchronize());
    return loss;
  }
  // The backward pass is on its way, so that the device need not wait for the
  // host's word.
  if (!std::isfinite(loss.loss_sum)) {
    PACELINE_RETURN_IF_ERROR(backend_.Synchronize());
    return loss;
  }
  for (const Bucket& fetched : buckets_) {
    PACELINE_RETURN_IF_ERROR(backend_.Await(*fetched.arrived));
    for (size_t i = fetched.part.end; i-- > fetched.part.first;) {
      calls.on_ready(i);
    }
  }
  return loss;
}

void Model::Queue(RepeatedStep& step, const StagedBatch& batch, Pass pass,
                  float scale, bool fetching) {
  step.Run([&] {
    Forward(batch, pass, scale);
    step.Between([this, n = batch.n] { FetchOutcome(n); });
    if (!pass.training) return;
    size_t bucket = 0;
    size_t next = specs_.size();
    const std::function<void(size_t)> ready = [&](size_t tensor) {
      CHECK(tensor == --next);  // Else a bucket is not final yet.
      if (!fetching || tensor != buckets_[bucket].part.first) return;
      const GradientBucket& final = buckets_[bucket].part;
      Pack(final.offset, final.size);
      step.Between([this, bucket] { FetchBucket(bucket); });
      ++bucket;
    };
    pass.ready = &ready;
    Backward(batch, pass);
  });
}

void Model::FetchOutcome(int batch) {
  backend_.Set(*outcome_computed_, Lane::kCompute);
  backend_.Follow(Lane::kDownload, *outcome_computed_);
  backend_.Download(Lane::kDownload, outcome_->span().First(2 * batch),
                    HostSpan(outcome_host_->span().First(2 * batch)));
  backend_.Set(*outcome_arrived_, Lane::kDownload);
}

void Model::FetchBucket(size_t index) {
  const Bucket& fetched = buckets_[index];
  backend_.Set(*fetched.computed, Lane::kCompute);
  backend_.Follow(Lane::kDownload, *fetched.computed);
  Download(Lane::kDownload, fetched.part.offset, fetched.part.size);
  backend_.Set(*fetched.arrived, Lane::kDownload);
}

void Model::Download(Lane lane, int64_t offset, int64_t size) {
  backend_.Download(
      lane, Packed(packed_ != nullptr ? *packed_ : *gradients_, offset, size),
      HostSpan(Packed(*gradients_host_, offset, size)));
}

absl::Status Model::FetchGradients() {
  Pack(0, offsets_.back());
  if (backend_.host_visible()) return absl::OkStatus();
  Download(Lane::kCompute, 0, offsets_.back());
  return backend_.Synchronize();
}

void Model::AddToOriginal() {
  Backend& there = original_->backend_;
  const DeviceSpan sum = original_->gradients_->span();
  if (host_visible()) return there.Axpy(1, gradients_->span(), sum);
  for (int64_t begin = 0; begin < sum.size; begin += kCarryFloats) {
    const int64_t size = std::min(kCarryFloats, sum.size - begin);
    const DeviceSpan carried = carried_->span().First(size);
    // In one lane, so that the next piece waits for this one.
    there.Upload(Lane::kCompute,
                 HostSpan(gradients_host_->span().Sub(begin, size)), carried);
    there.Axpy(1, carried, sum.Sub(begin, size));
  }
}

absl::Status Model::repeat_obstacle() const {
  return steps_.empty() ? absl::OkStatus() : steps_.front().second->obstacle();
}

RepeatedStep& Model::StepOf(const StepKey& key) {
  // The latest first: with balanced batches sizes come and go.
  auto step =
      std::find_if(steps_.begin(), steps_.end(),
                   [&](const auto& known) { return known.first == key; });
  if (step == steps_.end()) {
    if (steps_.size() == kStepsMax) steps_.pop_back();
    steps_.emplace_back(key, backend_.MakeRepeatedStep());
    step = steps_.end() - 1;
  }
  std::rotate(steps_.begin(), step, step + 1);
  return *steps_.front().second;
}

}  // namespace paceline
