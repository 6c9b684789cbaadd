#include "services/coordinator/run/roster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// Of what a member says of itself and metrics repeat.
constexpr size_t kLongestLabel = 63;

bool GoodName(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 63 &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

absl::StatusOr<Member> Roster::Register(const v1::WorkerHello& hello,
                                        WorkerPeer peer, absl::Time now) {
  if (!GoodName(hello.name())) {
    return absl::InvalidArgumentError(
        "a member's name has 1 to 63 letters, digits, '-', '_' or '.'");
  }
  absl::MutexLock lock(&mu_);
  Member member;
  member.id = WorkerId{next_id_++};
  member.name = hello.name();
  member.incarnation = incarnations_.Next();
  member.evaluator = hello.evaluator();
  member.pool = std::string(CutUtf8(hello.pool(), kLongestLabel));
  member.gpu_model = std::string(
      CutUtf8(hello.gpu_model().empty() ? hello.device() : hello.gpu_model(),
              kLongestLabel));
  member.last_heard = now;
  entries_.emplace(member.id, Entry{member, std::move(peer)});
  return member;
}

absl::Status Roster::Ready(WorkerId worker, const v1::WorkerReady& ready) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it == entries_.end() ||
      it->second.member.state != MemberState::kLoading) {
    return absl::FailedPreconditionError("the member has said `ready` before");
  }
  it->second.member.state = MemberState::kReady;
  it->second.member.ready = ready;
  return absl::OkStatus();
}

void Roster::Initialized(WorkerId worker) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it != entries_.end()) it->second.member.initialized = true;
}

void Roster::Working(WorkerId worker) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it == entries_.end()) return;
  if (it->second.member.state == MemberState::kReady) {
    it->second.member.state = MemberState::kWorking;
  }
}

void Roster::Heard(WorkerId worker, absl::Time now) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it != entries_.end()) it->second.member.last_heard = now;
}

bool Roster::Gone(WorkerId worker) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it == entries_.end() || it->second.member.state == MemberState::kGone) {
    return false;
  }
  it->second.member.state = MemberState::kGone;
  it->second.member.ready.Clear();
  it->second.peer = {};
  return true;
}

void Roster::Send(WorkerId worker, v1::WorkerCommand command) {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it != entries_.end() && it->second.peer.send) {
    it->second.peer.send(std::move(command));
  }
}

void Roster::Close(WorkerId worker, const absl::Status& status) {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it != entries_.end() && it->second.peer.close) {
    it->second.peer.close(status);
  }
}

void Roster::SendToAll(const v1::WorkerCommand& command) {
  absl::ReaderMutexLock lock(&mu_);
  for (const auto& [id, entry] : entries_) {
    if (entry.peer.send) entry.peer.send(command);
  }
}

std::optional<Member> Roster::Find(WorkerId worker) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it == entries_.end()) return std::nullopt;
  return it->second.member;
}

uint64_t Roster::IncarnationOf(WorkerId worker) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  return it == entries_.end() ? 0 : it->second.member.incarnation;
}

std::string Roster::NameOf(WorkerId worker) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = entries_.find(worker);
  if (it == entries_.end()) return absl::StrCat("#", ToNumber(worker));
  return it->second.member.name;
}

std::vector<Member> Roster::Present() const {
  absl::ReaderMutexLock lock(&mu_);
  return PresentLocked();
}

std::vector<Member> Roster::PresentLocked() const {
  std::vector<Member> present;
  for (const auto& [id, entry] : entries_) {
    if (entry.member.state != MemberState::kGone) {
      present.push_back(entry.member);
    }
  }
  return present;
}

bool Roster::Await(
    const std::function<bool(const std::vector<Member>&)>& enough,
    absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto holds = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return enough(PresentLocked());
  };
  return mu_.AwaitWithTimeout(absl::Condition(&holds), timeout);
}

}  // namespace paceline
