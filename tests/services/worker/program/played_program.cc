#include "tests/services/worker/program/played_program.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

#include "gtest/gtest.h"
#include "tests/services/worker/fake_coordinator.h"

namespace paceline {
namespace {

// As the protocol says, for the model of Attach().
constexpr std::array<size_t, 3> kSizes = {6, 3, 2};
constexpr std::array<size_t, 3> kWeightsAt = {0, 64, 128};
constexpr std::array<size_t, 3> kGradientsAt = {0, 0, 64};

}  // namespace

PlayedProgram::PlayedProgram(const std::string& path)
    : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0)
      << strerror(errno);
}

PlayedProgram::~PlayedProgram() {
  if (weights_ != nullptr) munmap(weights_, weights_bytes_);
  if (gradients_ != nullptr) munmap(gradients_, gradients_bytes_);
}

void PlayedProgram::SayHello(int protocol) {
  SayJson(
      FrameKind::kHello,
      {{"protocol", protocol}, {"pid", 4711}, {"language", "C++, in a test"}});
}

void PlayedProgram::Say(FrameKind kind, absl::string_view body) {
  SayBytes(FrameBytes(kind, body));
}

void PlayedProgram::SayJson(FrameKind kind, const nlohmann::json& object) {
  Say(kind, object.dump());
}

void PlayedProgram::SayBytes(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    // The agent may have closed by now; what it said before is of interest.
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool PlayedProgram::Fill(size_t bytes) {
  while (received_.size() < bytes) {
    pollfd input = {socket_.get(), POLLIN, 0};
    const auto patience = absl::ToInt64Milliseconds(kTestPatience);
    if (poll(&input, 1, static_cast<int>(patience)) <= 0) {
      ADD_FAILURE() << "the agent says nothing";
      return false;
    }
    std::array<char, 65536> data;
    iovec part = {data.data(), data.size()};
    alignas(cmsghdr) std::array<char, 256> control;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) return false;
    received_.append(data.data(), static_cast<size_t>(n));
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        descriptors_.emplace_back(fd);
      }
    }
  }
  return true;
}

std::string PlayedProgram::Expect(FrameKind kind) {
  if (!Fill(kFrameHeaderBytes)) {
    ADD_FAILURE() << "the agent has closed, and said no " << FrameName(kind);
    return "";
  }
  uint32_t header[2];
  memcpy(header, received_.data(), sizeof(header));
  EXPECT_TRUE(Fill(kFrameHeaderBytes + header[0]));
  std::string body = received_.substr(kFrameHeaderBytes, header[0]);
  received_.erase(0, kFrameHeaderBytes + header[0]);
  EXPECT_EQ(FrameName(static_cast<FrameKind>(header[1])), FrameName(kind))
      << body;
  return body;
}

nlohmann::json PlayedProgram::ExpectJson(FrameKind kind) {
  return nlohmann::json::parse(Expect(kind), nullptr, false);
}

void PlayedProgram::ExpectWeights(uint32_t tensors) {
  uint32_t told = 0;
  while (told < tensors) {
    const std::string body = Expect(FrameKind::kWeights);
    ASSERT_EQ(body.size(), 8u);
    uint32_t run[2];
    memcpy(run, body.data(), sizeof(run));
    EXPECT_EQ(run[0], told) << "the first tensors come first";
    told = run[1];
  }
}

void PlayedProgram::ExpectEnd() {
  EXPECT_FALSE(Fill(received_.size() + 1)) << "it says " << received_;
}

void PlayedProgram::Close() { socket_.Reset(); }

nlohmann::json PlayedProgram::Attach(const nlohmann::json& more) {
  SayHello();
  nlohmann::json job = ExpectJson(FrameKind::kJob);
  nlohmann::json attach = {
      {"tensors",
       {{{"name", "w"}, {"shape", {2, 3}}},
        {{"name", "frozen"}, {"shape", {3}}, {"kind", "frozen"}},
        {{"name", "b"}, {"shape", {2}}, {"rate_factor", 2.0}}}},
      {"train_samples", 1000},
      {"test_samples", 100}};
  attach.update(more.is_object() ? more : nlohmann::json::object());
  SayJson(FrameKind::kAttach, attach);
  return job;
}

void PlayedProgram::TakeBegin() {
  const nlohmann::json begin = ExpectJson(FrameKind::kBegin);
  ASSERT_EQ(descriptors_.size(), 2u);
  weights_bytes_ = begin["weights_bytes"];
  gradients_bytes_ = begin["gradients_bytes"];
  EXPECT_EQ(weights_bytes_, 136u);
  EXPECT_EQ(gradients_bytes_, 72u);
  const auto map = [](const UniqueFd& fd, size_t bytes) {
    struct stat about = {};
    EXPECT_EQ(fstat(fd.get(), &about), 0);
    EXPECT_EQ(static_cast<size_t>(about.st_size), bytes);
    EXPECT_NE(ftruncate(fd.get(), 1), 0) << "it cannot be shrunk";
    EXPECT_NE(ftruncate(fd.get(), 1 << 20), 0) << "it cannot be grown";
    void* const data =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(data, MAP_FAILED);
    return static_cast<char*>(data);
  };
  weights_ = map(descriptors_[0], weights_bytes_);
  gradients_ = map(descriptors_[1], gradients_bytes_);
  descriptors_.clear();
  if (!begin["initialize"]) return;
  for (size_t tensor = 0; tensor < kSizes.size(); ++tensor) {
    std::ranges::fill(weights(tensor), 1.0f + static_cast<float>(tensor));
  }
  Say(FrameKind::kInitialized);
}

absl::Span<float> PlayedProgram::weights(size_t tensor) const {
  return {reinterpret_cast<float*>(weights_ + kWeightsAt[tensor]),
          kSizes[tensor]};
}

absl::Span<float> PlayedProgram::gradients(size_t tensor) const {
  return {reinterpret_cast<float*>(gradients_ + kGradientsAt[tensor]),
          kSizes[tensor]};
}

}  // namespace paceline
