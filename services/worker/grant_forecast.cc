#include "services/worker/grant_forecast.h"

#include <algorithm>

#include "common/rpc/wire_format.h"

namespace paceline {
namespace {

constexpr int kMostNeeded = 64;

}  // namespace

void GrantForecast::Belief::Count(bool came_true) {
  if (came_true) {
    came_true_ = std::min(came_true_ + 1, kMostNeeded);
    return;
  }
  if (believed()) needed_ = std::min(2 * needed_, kMostNeeded);
  came_true_ = 0;
}

std::optional<int64_t> GrantForecast::Closing() const {
  if (!closing_.believed()) return std::nullopt;
  return last_->closing() + 1;
}

std::optional<v1::Grant> GrantForecast::Next() const {
  return whole_.believed() ? Foretell() : std::nullopt;
}

std::optional<v1::Grant> GrantForecast::Foretell() const {
  if (!last_.has_value() || reserved_.empty()) return std::nullopt;
  const uint32_t samples = FromWire(last_->range()).size();
  SampleRange front = reserved_.front();
  // What is left of an epoch may be dealt in another way.
  if (front.size() < samples) return std::nullopt;
  front.end = front.begin + samples;
  v1::Grant next = *last_;
  next.set_iteration(last_->iteration() + 1);
  next.set_closing(last_->closing() + 1);
  next.set_base_version(last_->base_version() + 1);
  *next.mutable_range() = ToWire(front);
  next.clear_reserved();
  return next;
}

bool GrantForecast::Fits(const v1::Grant& grant, const v1::Grant& foretold) {
  return grant.iteration() == foretold.iteration() &&
         grant.closing() == foretold.closing() &&
         grant.base_version() == foretold.base_version() &&
         grant.micro_batch() == foretold.micro_batch() &&
         grant.plan().kind_case() == foretold.plan().kind_case() &&
         grant.plan().compensation() == foretold.plan().compensation() &&
         FromWire(grant.range()) == FromWire(foretold.range());
}

bool GrantForecast::Take(const v1::Grant& grant) {
  const bool asked = Closing().has_value();
  const bool follows = last_.has_value() &&
                       grant.closing() == last_->closing() + 1 &&
                       grant.base_version() == last_->base_version() + 1;
  closing_.Count(follows);
  if (const std::optional<v1::Grant> foretold = Foretell()) {
    whole_.Count(Fits(grant, *foretold));
  }
  Reserve(grant);
  last_ = grant;
  return follows && asked;
}

void GrantForecast::Reserve(const v1::Grant& grant) {
  const SampleRange taken = FromWire(grant.range());
  if (!reserved_.empty()) {
    SampleRange& front = reserved_.front();
    if (front.epoch == taken.epoch && front.begin == taken.begin &&
        taken.end <= front.end) {
      front.begin = taken.end;
      if (front.size() == 0) reserved_.pop_front();
    } else {
      reserved_.clear();
    }
  }
  for (const v1::SampleRange& range : grant.reserved()) {
    const SampleRange more = FromWire(range);
    if (!reserved_.empty() && reserved_.back().epoch == more.epoch &&
        reserved_.back().end == more.begin) {
      reserved_.back().end = more.end;
    } else {
      reserved_.push_back(more);
    }
  }
}

}  // namespace paceline
