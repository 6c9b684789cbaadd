// Bytes that another process of this machine writes into its end of a socket,
// in pieces.

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/lane/message_socket.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr size_t kMost = 1000;
constexpr size_t kMostSent = size_t{64} << 10;  // Finds room.

std::string Message(const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) +
         text;
}

// What should come of them, and whether a message is too long.
struct Expected {
  std::vector<std::string> messages;
  bool refused = false;
};

Expected Read(absl::string_view bytes) {
  Expected expected;
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    expected.refused = length > kMost;
    if (expected.refused || bytes.size() < length) break;
    expected.messages.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return expected;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {FuzzText(Message("") + Message("one") + Message("two")),
          FuzzText(Message("cut").substr(0, 5)) + FuzzText("t"),
          FuzzText(Message(std::string(kMost, 'x'))),
          FuzzText(Message("fine") + Message(std::string(kMost + 1, 'x')))};
}

void FuzzOne(absl::string_view input) {
  auto pair = MessageSocket::Pair();
  CHECK(pair.ok());
  std::vector<std::string> got;
  absl::Status why;
  absl::Notification ended;
  std::string sent;
  {
    MessageSocket socket(
        MessageSocket::PartsOf(std::move((*pair)[0])), kMost,
        {.on_message =
             [&got](absl::string_view message) { got.emplace_back(message); },
         .on_sent = [] {},
         .on_nudged = [] {},
         .on_end =
             [&](const absl::Status& status) {
               why = status;
               ended.Notify();
             }});
    socket.ReadOn();
    FuzzInput fuzz(input);
    while (!fuzz.empty()) {
      const absl::string_view piece = fuzz.Text();
      // Nobody reads on what follows a message that is too long.
      if (sent.size() + piece.size() > kMostSent) break;
      CHECK(send((*pair)[1].get(), piece.data(), piece.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(piece.size()));
      sent.append(piece.data(), piece.size());
    }
    (*pair)[1].Reset();
    ended.WaitForNotification();
  }
  const Expected expected = Read(sent);
  CHECK(got == expected.messages);
  CHECK(why.ok() != expected.refused);
  ExpectCode(why, {absl::StatusCode::kResourceExhausted});
}

}  // namespace paceline
