#include "common/connections/door.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/connections/peer_name.h"

namespace paceline {
namespace {

// How often what is received is looked at, and how many connections a second:
// each look is two system calls, about 2 us.
constexpr absl::Duration kPause = absl::Milliseconds(10);
constexpr int kReadingsPerSecond = 20'000;

// So many times as long while nothing is received.
constexpr int kQuietPauses = 5;

// So many times as often while what may be owed fills up: in 10 ms a hundred
// callers send 20 MB over loopback.
constexpr int kUrgentLooks = 5;

// What keeps from accepting will not be over at once: no descriptors, no room.
constexpr int kRetryMs = 5;

// The transport lets go of a connection that has ended in much less.
constexpr absl::Duration kLongestEnding = absl::Seconds(2);

// Between two times that freed memory is given back to the system, which takes
// every arena's lock in turn.
constexpr absl::Duration kTrimPause = absl::Milliseconds(100);

// Accepted in a row before the end of accepting is looked at again.
constexpr int kBatch = 64;

constexpr uint64_t kPoke = 0;  // Connections are numbered from 1.

void SetEvent(const UniqueFd& event) {
  const uint64_t one = 1;
  // Cannot fail: it is not written so often.
  CHECK(write(event.get(), &one, sizeof(one)) == sizeof(one));
}

UniqueFd NewEvent() {
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  CHECK(event.valid());
  return event;
}

// Ends the connection at once, for the transport too. What the kernel still
// has of it goes as well, which after a shutdown() would be read.
void Reset(int fd) {
  sockaddr nobody = {};
  nobody.sa_family = AF_UNSPEC;
  if (connect(fd, &nobody, sizeof(nobody)) != 0) shutdown(fd, SHUT_RDWR);
}

// Which socket a descriptor leads to; 0: none. It may be the transport's, who
// closes it at any moment: that is what is asked, and not with fstat(), which
// ThreadSanitizer takes for a use of the file.
ino_t InodeOf(int fd) {
  struct statx status = {};
  return statx(fd, "", AT_EMPTY_PATH, STATX_INO, &status) == 0 ? status.stx_ino
                                                               : 0;
}

}  // namespace

Door::Door(TcpListener listener, Options options, Serve serve)
    : options_(std::move(options)),
      serve_(std::move(serve)),
      stop_accepting_(NewEvent()),
      poke_(NewEvent()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      budget_(options_.limits),
      listeners_(std::move(listener.sockets)) {
  CHECK(epoll_.valid());
  if (options_.accounts != nullptr) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = kPoke;
    CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, poke_.get(), &event) == 0);
    watching_ = std::thread([this] { Watch(); });
  }
  absl::MutexLock lock(&stop_mu_);
  accepting_ = std::thread([this] { Accept(); });
}

Door::~Door() {
  Stop();
  if (watching_.joinable()) {
    {
      absl::MutexLock lock(&mu_);
      ending_ = true;
    }
    SetEvent(poke_);
    watching_.join();
  }
  absl::MutexLock lock(&mu_);
  while (!watched_.empty()) Forget(watched_.begin()->first);
}

void Door::Stop() {
  absl::MutexLock lock(&stop_mu_);
  if (!accepting_.joinable()) return;
  SetEvent(stop_accepting_);
  accepting_.join();
  listeners_.clear();
}

// The thread that accepts.

void Door::Accept() {
  std::vector<pollfd> waited;
  waited.push_back({stop_accepting_.get(), POLLIN, 0});
  for (const UniqueFd& listener : listeners_) {
    waited.push_back({listener.get(), POLLIN, 0});
  }
  while (true) {
    poll(waited.data(), waited.size(), -1);
    if (waited[0].revents != 0) return;
    for (size_t i = 1; i < waited.size(); ++i) {
      // The listener stays readable, so that waiting for it would spin.
      if (waited[i].revents != 0 && !AcceptFrom(waited[i].fd)) {
        poll(waited.data(), 1, kRetryMs);
      }
    }
  }
}

bool Door::StrangersOweTooMuch() {
  absl::MutexLock lock(&mu_);
  return budget_.StrangersOweTooMuch();
}

bool Door::AcceptFrom(int listener) {
  for (int i = 0; i < kBatch; ++i) {
    if (StrangersOweTooMuch()) return false;
    UniqueFd connection(
        accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      Take(std::move(connection));
      continue;
    }
    switch (errno) {
      case EAGAIN:
        return true;
      case EMFILE:
      case ENFILE:
        EndOldestStranger();
        return false;
      case ENOBUFS:
      case ENOMEM:
        return false;
      default:
        // One that has gone before it was accepted: the next may be well. A
        // failure that lasts must not spin.
        if (errno != EINTR && errno != ECONNABORTED) return false;
    }
  }
  return true;
}

void Door::Take(UniqueFd connection) {
  if (options_.accounts != nullptr) {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    // Who has gone already needs no place.
    if (getpeername(connection.get(), reinterpret_cast<sockaddr*>(&address),
                    &size) != 0) {
      return;
    }
    if (!Enter(connection.get(), PeerName(address))) return;
  }
  serve_(std::move(connection));
  TellCounts();
}

bool Door::Enter(int connection, const std::string& peer) {
  UniqueFd second = Second(connection);
  std::vector<Told> told;
  bool entered = false;
  {
    absl::MutexLock lock(&mu_);
    const absl::string_view address =
        absl::string_view(peer).substr(0, peer.rfind(':'));
    // A call may have been let in since the last sweep.
    for (const auto& [id, watched] : watched_) {
      if (watched.account->authorized()) budget_.Authorize(id);
    }
    const ConnectionBudget::Room room = budget_.MakeRoomFor(address);
    if (room.gives_way.has_value()) EndLocked(*room.gives_way, told);
    if (room.full) {
      told.push_back({peer, {.id = 0, .reason = CutReason::kNoPlace}});
    } else if (!second.valid()) {  // Nobody could count it.
      told.push_back({peer, {.id = 0, .reason = CutReason::kNoDescriptors}});
    } else {
      const Id id = next_++;
      budget_.Open(id, address);
      epoll_event event = {};
      // A byte that the transport does not read at once ends a pause.
      event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
      event.data.u64 = id;
      const int fd = second.get();
      watched_.emplace(
          id, Watched{std::move(second), connection, InodeOf(connection), peer,
                      options_.accounts->Open(peer)});
      entered = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
      if (!entered) Forget(id);  // Too many watches for this user.
      if (watched_.size() == 1) SetEvent(poke_);
    }
  }
  Tell(told);
  return entered;
}

UniqueFd Door::Second(int connection) {
  UniqueFd second(fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (second.valid()) return second;
  EndOldestStranger();
  pollfd stop = {stop_accepting_.get(), POLLIN, 0};
  for (int i = 0; i < 40 && !second.valid() && stop.revents == 0; ++i) {
    poll(&stop, 1, kRetryMs);
    second.Reset(fcntl(connection, F_DUPFD_CLOEXEC, 0));
  }
  return second;
}

void Door::EndOldestStranger() {
  std::vector<Told> told;
  {
    absl::MutexLock lock(&mu_);
    if (const auto cut = budget_.OldestStranger()) EndLocked(*cut, told);
  }
  Tell(told);
}

// The thread that watches.

void Door::Watch() {
  Looked looked;
  while (AwaitEvents(looked)) {
    looked = Sweep();
    TellCounts();
  }
}

bool Door::AwaitEvents(const Looked& looked) {
  const int pause = static_cast<int>(absl::ToInt64Milliseconds(looked.pause));
  // As long as something is received it looks again after a pause. Else after
  // some, or at the next byte: one that the transport reads faster than this
  // thread wakes is not told of, but that is no flood.
  int most = looked.connections ? kQuietPauses * pause : -1;
  if (looked.moved) {
    pollfd poked = {poke_.get(), POLLIN, 0};
    poll(&poked, 1, pause);
    most = 0;
  }
  epoll_event events[256];
  const int count = epoll_wait(epoll_.get(), events, 256, most);
  absl::MutexLock lock(&mu_);
  if (ending_) return false;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kPoke) {
      uint64_t poked = 0;
      CHECK(read(poke_.get(), &poked, sizeof(poked)) == sizeof(poked));
      continue;
    }
    // Whoever sends no more cannot grow.
    if ((events[i].events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
      Ending(events[i].data.u64);
    }
  }
  return true;
}

Door::Looked Door::Sweep() {
  std::vector<Told> told;
  Looked looked;
  {
    absl::MutexLock lock(&mu_);
    const absl::Time now = Clock::Real().Now();
    for (const auto& [id, watched] : watched_) {
      const bool ending = watched.ending < absl::InfiniteFuture();
      if (!ending && Read(id, watched, now)) looked.moved = true;
    }
    for (const ConnectionBudget::Cut& cut : budget_.Exceeding()) {
      EndLocked(cut, told);
    }
    if (SettleEnding(now)) looked.moved = true;
    looked.connections = !watched_.empty();
    looked.pause =
        std::max(kPause, absl::Seconds(static_cast<double>(watched_.size()) /
                                       kReadingsPerSecond));
    if (budget_.FillsUp()) looked.pause /= kUrgentLooks;
  }
  Tell(told);
  if (!told.empty()) holds_freed_ = true;
  GiveFreedBack();
  return looked;
}

void Door::GiveFreedBack() {
  const absl::Time now = Clock::Real().Now();
  if (!holds_freed_ || now - trimmed_ < kTrimPause) return;
  malloc_trim(0);
  trimmed_ = Clock::Real().Now();
  absl::MutexLock lock(&mu_);
  // What is still ending will be freed later.
  holds_freed_ = std::ranges::any_of(watched_, [](const auto& watched) {
    return watched.second.ending < absl::InfiniteFuture();
  });
}

bool Door::Read(Id id, const Watched& watched, absl::Time now) {
  ConnectionBudget::Reading reading;
  // First what was given to the application: it was received before.
  reading.messages = watched.account->messages();
  reading.message_bytes = watched.account->bytes();
  tcp_info info = {};
  socklen_t size = sizeof(info);
  int unread = 0;
  if (getsockopt(watched.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      ioctl(watched.fd.get(), SIOCINQ, &unread) != 0) {
    return false;  // It is ending; its event comes.
  }
  // What the kernel still holds is not in the process's memory.
  reading.received = info.tcpi_bytes_received - static_cast<uint64_t>(unread);
  reading.sent = info.tcpi_bytes_acked;
  reading.later_messages = watched.account->messages();
  reading.later_message_bytes = watched.account->bytes();
  // Last: whoever was let in meanwhile is no stranger for what came since.
  reading.authorized = watched.account->authorized();
  return budget_.Read(id, reading, now) || unread > 0;
}

void Door::Ending(Id id) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  it->second.ending = std::min(it->second.ending, Clock::Real().Now());
  budget_.Ending(id);
}

bool Door::SettleEnding(absl::Time now) {
  bool left = false;
  std::vector<Id> gone;
  for (const auto& [id, watched] : watched_) {
    if (watched.ending == absl::InfiniteFuture()) continue;
    // What the transport has closed is another's number by now, or nobody's.
    if (InodeOf(watched.transport) != watched.inode ||
        now - watched.ending > kLongestEnding) {
      gone.push_back(id);
    } else {
      left = true;
    }
  }
  // The socket lives as long as the second descriptor.
  for (const Id id : gone) Forget(id);
  return left;
}

void Door::Forget(Id id) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  // Closing it is not enough while the transport has the other descriptor.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.fd.get(), nullptr);
  options_.accounts->Close(it->second.peer, it->second.account.get());
  budget_.Close(id);
  watched_.erase(it);
}

void Door::EndLocked(const ConnectionBudget::Cut& cut,
                     std::vector<Told>& told) {
  const auto it = watched_.find(cut.id);
  if (it == watched_.end()) return;
  // The transport sees it, and lets go of all that it holds.
  Reset(it->second.fd.get());
  Ending(cut.id);
  told.push_back({it->second.peer, cut});
}

void Door::Tell(const std::vector<Told>& told) {
  if (!options_.on_cut) return;
  for (const Told& cut : told) options_.on_cut(cut.peer, cut.cut);
}

void Door::TellCounts() {
  if (!options_.on_counts) return;
  Counts counts;
  {
    absl::MutexLock lock(&mu_);
    counts = {budget_.open(), budget_.strangers()};
  }
  absl::MutexLock lock(&told_mu_);
  if (counts == told_) return;
  told_ = counts;
  options_.on_counts(counts);
}

// Descriptors.

ConnectionBudget::Limits FitDescriptors(ConnectionBudget::Limits limits) {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
      files.rlim_cur == RLIM_INFINITY) {
    return limits;
  }
  const size_t all = files.rlim_cur;
  // For files, streams of logs, the store, its own connections to others.
  const size_t kept = std::min<size_t>(256, all / 2);
  limits.connections = std::min(limits.connections, (all - kept) / 2);
  limits.strangers_open =
      std::min(limits.strangers_open, limits.connections / 2);
  limits.strangers_of_one_address =
      std::min(limits.strangers_of_one_address, limits.strangers_open / 2);
  return limits;
}

void RaiseDescriptorLimit() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  // Where that is not allowed, what there is has to do.
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace paceline
