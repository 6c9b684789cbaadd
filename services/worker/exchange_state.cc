#include "services/worker/exchange_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/standstill.h"

namespace paceline {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

absl::Status ExchangeState::AddBlock(uint32_t block, const BlockPlace& place) {
  if (!places_.emplace(block, place).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block, " is placed twice"));
  }
  ++blocks_of_[place.server];
  {
    absl::MutexLock lock(&mu_);
    open_.AddServer(place.server, place.pushed);
  }
  if (blocks_in_.size() <= place.tensor) blocks_in_.resize(place.tensor + 1);
  ++blocks_in_[place.tensor];
  return absl::OkStatus();
}

uint64_t ExchangeState::BeginPull(bool whole, bool ahead) {
  absl::MutexLock lock(&mu_);
  EndDelivery();
  ++request_;
  if (pulls_ended_.ok()) open_.Begin(&OpenAtServer::pull, request_);
  pull_ = OpenPull();
  pull_.ahead = ahead;
  for (const auto& [block, place] : places_) {
    if (whole || place.pushed) pull_.pending.insert(block);
  }
  pull_.left_in = blocks_in_;
  return request_;
}

void ExchangeState::AskInParts(size_t server, uint64_t request,
                               uint32_t parts) {
  absl::MutexLock lock(&mu_);
  open_.AskInParts(server, request, parts);
}

void ExchangeState::DeliverPull(OnTensor on_tensor) {
  absl::MutexLock lock(&mu_);
  Deliver(std::move(on_tensor));
}

void ExchangeState::DropPull() {
  absl::MutexLock lock(&mu_);
  EndDelivery();
  ++request_;
  open_.EndAll(&OpenAtServer::pull);
}

absl::StatusOr<PullResult> ExchangeState::AwaitPull(absl::Duration silence,
                                                    OnTensor on_tensor) {
  absl::MutexLock lock(&mu_);
  Deliver(std::move(on_tensor));
  const absl::Status waited =
      Await(&OpenAtServer::pull, "the weights", silence);
  EndDelivery();
  // What still comes of it is late.
  ++request_;
  open_.EndAll(&OpenAtServer::pull);
  if (!waited.ok()) return waited;
  if (!pulls_ended_.ok()) return pulls_ended_;
  if (!pull_.status.ok()) return pull_.status;
  if (!pull_.pending.empty()) {
    return absl::InternalError(absl::StrCat(
        "a pull ended with ", pull_.pending.size(), " blocks missing"));
  }
  return pull_.result;
}

void ExchangeState::TellArrived() {
  if (telling_arrived_) return;  // Who tells already goes on with these.
  telling_arrived_ = true;
  while (pull_.on_tensor != nullptr && !pull_.arrived.empty()) {
    const std::vector<size_t> arrived = std::exchange(pull_.arrived, {});
    const std::shared_ptr<const OnTensor> on_tensor = pull_.on_tensor;
    mu_.Unlock();
    for (const size_t tensor : arrived) (*on_tensor)(tensor);
    mu_.Lock();
  }
  telling_arrived_ = false;
}

void ExchangeState::EndDelivery() {
  pull_.on_tensor = nullptr;
  const auto told = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !telling_arrived_;
  };
  mu_.Await(absl::Condition(&told));
}

void ExchangeState::BeginPush(int64_t iteration) {
  absl::MutexLock lock(&mu_);
  open_.Begin(&OpenAtServer::push, static_cast<uint64_t>(iteration));
  refused_.clear();
  square_ = 0;
}

void ExchangeState::WhenTaken(std::function<void(const TakenPush&)> on_taken) {
  absl::MutexLock lock(&mu_);
  on_taken_ = std::move(on_taken);
  TellTaken();
}

absl::StatusOr<TakenPush> ExchangeState::AwaitPush(absl::Duration silence) {
  absl::MutexLock lock(&mu_);
  const absl::Status waited =
      Await(&OpenAtServer::push, "the acknowledgement of a push", silence);
  on_taken_ = nullptr;
  const auto told = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !telling_taken_;
  };
  mu_.Await(absl::Condition(&told));
  if (!waited.ok()) return waited;
  return Taken();
}

TakenPush ExchangeState::Taken() const {
  return {static_cast<uint32_t>(refused_.size()), square_};
}

std::vector<uint32_t> ExchangeState::refused() {
  absl::MutexLock lock(&mu_);
  return refused_;
}

void ExchangeState::TellTaken() {
  if (on_taken_ == nullptr || open_.Count(&OpenAtServer::push) > 0) return;
  const auto on_taken = std::exchange(on_taken_, nullptr);
  const TakenPush taken = Taken();
  telling_taken_ = true;
  mu_.Unlock();
  on_taken(taken);
  mu_.Lock();
  telling_taken_ = false;
}

uint64_t ExchangeState::BeginSet() {
  absl::MutexLock lock(&mu_);
  open_.Begin(&OpenAtServer::set, ++setting_);
  return setting_;
}

uint64_t ExchangeState::BeginSetAt(size_t server) {
  absl::MutexLock lock(&mu_);
  open_.BeginAt(server, &OpenAtServer::set, ++setting_);
  return setting_;
}

absl::Status ExchangeState::AwaitSet(absl::Duration silence) {
  absl::MutexLock lock(&mu_);
  return Await(&OpenAtServer::set, "the starting weights to be taken", silence);
}

void ExchangeState::EndPulls(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  if (!pulls_ended_.ok()) return;
  pulls_ended_ = status;
  open_.EndAll(&OpenAtServer::pull);
}

absl::Status ExchangeState::Pulled(size_t server, uint64_t request,
                                   uint32_t block, const Payload& payload,
                                   DType dtype,
                                   absl::FunctionRef<bool()> stood) {
  const auto place = places_.find(block);
  if (place == places_.end() || place->second.server != server) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block, " is not that server's"));
  }
  const absl::Span<float> values = place->second.values;
  const size_t bytes = EncodedSize(dtype, values.size());
  if (payload.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block, " came with ", payload.size(),
                     " bytes instead of ", bytes));
  }
  bool ahead = false;
  {
    absl::MutexLock lock(&mu_);
    if (request != request_) return absl::OkStatus();
    if (pull_.pending.erase(block) == 0) {
      if (pull_.again.erase(block) == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("block ", block, " came twice in one pull"));
      }
      open_.Came(server, /*again=*/true, clock_->Now());
      return absl::OkStatus();
    }
    pull_.result.bytes += payload.size();
    open_.Came(server, /*again=*/false, clock_->Now());
    ahead = pull_.ahead;
    if (ahead) {
      pull_.early.push_back(
          {values, place->second.tensor, std::vector<float>(values.size())});
      payload.CopyTo(dtype, pull_.early.back().values.data());
      if (stood()) return absl::OkStatus();
      pull_.early.pop_back();
    }
  }
  if (ahead) return NotCopied(request, block, payload.size());
  // Outside the lock, so that servers' blocks are copied in parallel. Nobody
  // reads them before Copied(), or this server's end of the pull, which both
  // come after this.
  payload.CopyTo(dtype, values.data());
  if (!stood()) {
    Torn(server);
    return NotCopied(request, block, payload.size());
  }
  Copied(request, place->second.tensor);
  return absl::OkStatus();
}

void ExchangeState::Copied(uint64_t request, size_t tensor) {
  absl::MutexLock lock(&mu_);
  if (request != request_) return;
  pull_.Copied(tensor);
  TellArrived();
}

void ExchangeState::Torn(size_t server) {
  absl::MutexLock lock(&mu_);
  open_.Tear(server);
}

absl::Status ExchangeState::NotCopied(uint64_t request, uint32_t block,
                                      size_t bytes) {
  absl::MutexLock lock(&mu_);
  // Of a pull whose place another has taken, nobody wants it.
  if (request != request_) return absl::OkStatus();
  pull_.pending.insert(block);
  pull_.result.bytes -= bytes;
  return absl::UnavailableError(
      absl::StrCat("block ", block, " was withdrawn while it was read"));
}

void ExchangeState::Deliver(OnTensor on_tensor) {
  if (pull_.delivered) return;
  pull_.delivered = true;
  if (on_tensor != nullptr) {
    pull_.on_tensor = std::make_shared<const OnTensor>(std::move(on_tensor));
  }
  pull_.ahead = false;
  const std::vector<OpenPull::Early> early = std::exchange(pull_.early, {});
  // The wait may begin meanwhile, and must not end.
  telling_arrived_ = true;
  mu_.Unlock();
  for (const OpenPull::Early& block : early) {
    std::ranges::copy(block.values, block.place.begin());
  }
  mu_.Lock();
  telling_arrived_ = false;
  for (const OpenPull::Early& block : early) pull_.Copied(block.tensor);
  TellArrived();
}

void ExchangeState::PullEnded(size_t server, uint64_t request,
                              const absl::Status& status, absl::Duration parked,
                              uint32_t part) {
  absl::MutexLock lock(&mu_);
  if (!open_.End(server, &OpenAtServer::pull, request, clock_->Now(), part)) {
    return;
  }
  pull_.result.parked = std::max(pull_.result.parked, parked);
  if (pull_.status.ok()) pull_.status = status;
  if (pull_.status.ok() && open_.At(server).pull == 0) open_.Mend(server);
}

void ExchangeState::PushTaken(size_t server, int64_t iteration,
                              absl::Span<const uint32_t> refused,
                              std::optional<double> square) {
  absl::MutexLock lock(&mu_);
  if (open_.End(server, &OpenAtServer::push, static_cast<uint64_t>(iteration),
                clock_->Now())) {
    refused_.insert(refused_.end(), refused.begin(), refused.end());
    if (square_.has_value() && square.has_value()) {
      *square_ += *square;
    } else {
      square_.reset();
    }
    TellTaken();
  }
}

void ExchangeState::SetTaken(size_t server) {
  absl::MutexLock lock(&mu_);
  const Kind set = &OpenAtServer::set;
  open_.End(server, set, open_.At(server).*set, clock_->Now());
}

void ExchangeState::Sent(size_t server) {
  absl::MutexLock lock(&mu_);
  open_.Went(server, clock_->Now());
}

void ExchangeState::Suspended(size_t server, const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  open_.Suspend(server, status);
}

OpenAtServer ExchangeState::Resumed(size_t server) {
  absl::MutexLock lock(&mu_);
  open_.Resume(server);
  const OpenAtServer open = open_.At(server);
  if (open.pull == 0) return open;
  for (const auto& [block, place] : places_) {
    if (place.server == server && !pull_.pending.contains(block)) {
      pull_.again.insert(block);
    }
  }
  return open;
}

void ExchangeState::Broken(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  if (broken_.ok()) broken_ = status;
}

bool ExchangeState::broken() {
  absl::MutexLock lock(&mu_);
  return !broken_.ok();
}

OpenAtServer ExchangeState::OpenAt(size_t server) {
  absl::MutexLock lock(&mu_);
  return open_.At(server);
}

bool ExchangeState::waiting() {
  absl::MutexLock lock(&mu_);
  return waiting_;
}

absl::Status ExchangeState::Await(Kind kind, absl::string_view what,
                                  absl::Duration silence) {
  const auto over = [this, kind]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return open_.Count(kind) == 0 || !broken_.ok();
  };
  const absl::Time began = clock_->Now();
  absl::Duration stood_still;
  absl::Duration left = silence;
  waiting_ = true;
  while (!over() && left > absl::ZeroDuration()) {
    // Looks again now and then: the clock may be another than the wait's.
    const absl::Duration look = std::min(left, kLook);
    const absl::Time looked = Clock::Real().Now();
    mu_.AwaitWithTimeout(absl::Condition(&over), look);
    stood_still += StandstillIn(looked, look);
    left = std::max(began, open_.last_progress()) + silence + stood_still -
           clock_->Now();
  }
  waiting_ = false;
  return over() ? broken_ : Silent(kind, what, silence);
}

absl::Status ExchangeState::Silent(Kind kind, absl::string_view what,
                                   absl::Duration silence) {
  const absl::Status broke = open_.WhyNot(kind);
  if (broke.ok()) {
    return absl::UnavailableError(
        absl::StrCat(open_.Count(kind), " parameter servers were silent for ",
                     absl::FormatDuration(silence), ": waited for ", what));
  }
  // For good: who asks again would wait for that server again.
  broken_ = absl::UnavailableError(
      absl::StrCat(broke.message(), "; nothing came for ",
                   absl::FormatDuration(silence), ": waited for ", what));
  return broken_;
}

}  // namespace paceline
