#ifndef PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PLAYED_PROGRAM_H_
#define PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PLAYED_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/unique_fd.h"
#include "services/worker/program/program_messages.h"

namespace paceline {

// A program played by the test, over the real socket. Every wait ends by the
// agent, or after kTestPatience with a failure of the test.
class PlayedProgram {
 public:
  // Connects; says nothing.
  explicit PlayedProgram(const std::string& path);
  ~PlayedProgram();
  PlayedProgram(const PlayedProgram&) = delete;
  PlayedProgram& operator=(const PlayedProgram&) = delete;

  void SayHello(int protocol = kProgramProtocol);
  void Say(FrameKind kind, absl::string_view body = "");
  void SayJson(FrameKind kind, const nlohmann::json& object);
  void SayBytes(absl::string_view bytes);
  // A struct, packed.
  template <class... Number>
  void SayNumbers(FrameKind kind, const Number&... numbers) {
    std::string body;
    (body.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)),
     ...);
    Say(kind, body);
  }
  void SayDone(int64_t iteration, double loss_sum, uint32_t samples,
               uint32_t flags = 0) {
    SayNumbers(FrameKind::kDone, iteration, loss_sum, samples, flags,
               uint64_t{0}, uint64_t{0});
  }

  // The body of the agent's next frame, which must be of this kind.
  std::string Expect(FrameKind kind);
  nlohmann::json ExpectJson(FrameKind kind);
  // Up to the `weights` that name the last of so many tensors.
  void ExpectWeights(uint32_t tensors);
  // The agent has closed the connection.
  void ExpectEnd();
  void Close();

  // Says hello, and what a model of two trained tensors and a frozen one is:
  // "w" of 6 elements, "frozen" of 3, "b" of 2. Returns the job.
  nlohmann::json Attach(const nlohmann::json& more = {});
  // `begin` with its arenas; writes starting weights if it is to.
  void TakeBegin();
  // The steps, for gradients of the job's wire fp32.
  absl::Span<float> weights(size_t tensor) const;
  absl::Span<float> gradients(size_t tensor) const;

 private:
  // False once the agent has closed.
  bool Fill(size_t bytes);

  UniqueFd socket_;
  std::string received_;
  std::vector<UniqueFd> descriptors_;
  char* weights_ = nullptr;
  char* gradients_ = nullptr;
  size_t weights_bytes_ = 0;
  size_t gradients_bytes_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_PROGRAM_PLAYED_PROGRAM_H_
