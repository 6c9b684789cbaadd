#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_MESSAGES_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tensor/tensor_kind.h"

namespace paceline {

// What an agent and its program say to each other (docs/program-protocol.md),
// from bytes and to bytes. Pure. Every decoder gives INVALID_ARGUMENT, with
// what is wrong and what would be right, for what the protocol does not allow.

inline constexpr int kProgramProtocol = 1;

// Bytes of a frame's header, and the most of its body.
inline constexpr size_t kFrameHeaderBytes = 8;
inline constexpr size_t kFrameBodyMax = size_t{16} << 20;

// Samples of the largest `lot`.
inline constexpr size_t kLotSamplesMax = (kFrameBodyMax - 8) / 4;

enum class FrameKind : uint32_t {
  // Of the program.
  kHello = 1,
  kAttach = 2,
  kInitialized = 3,
  kReady = 4,
  kDone = 5,
  kAbandoned = 6,
  kEvaluated = 7,
  kFailed = 8,
  // Of the agent.
  kJob = 64,
  kBegin = 65,
  kWeights = 66,
  kLot = 67,
  kDrop = 68,
  kStep = 69,
  kRefresh = 70,
  kAbandon = 71,
  kEvaluate = 72,
  kStop = 73,
  kRefused = 74,
};

// "attach", "step", ...; "frame 99" of one that there is not.
std::string FrameName(FrameKind kind);

struct FrameHeader {
  uint32_t length = 0;  // Of the body.
  FrameKind kind = FrameKind::kHello;
};

// `bytes` are kFrameHeaderBytes. INVALID_ARGUMENT for a body that is too long,
// or a kind that no program sends.
absl::StatusOr<FrameHeader> ParseFrameHeader(absl::string_view bytes);

// One frame, header and body.  REQUIRES: the body is at most kFrameBodyMax.
std::string FrameBytes(FrameKind kind, absl::string_view body);

// Of the program.

struct ProgramHello {
  int protocol = 0;
  int64_t pid = 0;
  std::string language;  // For logs.
};
// Of any protocol: whether it is ours the caller says.
absl::StatusOr<ProgramHello> ParseHello(absl::string_view body);

// A tensor of the program's model.
struct ProgramTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t size = 1;  // The product of `shape`.
  TensorKind kind = TensorKind::kTrained;
  std::optional<double> rate_factor;
  std::optional<double> weight_decay;
  std::optional<double> momentum;

  // Whether something is pushed for it.
  bool pushed() const { return kind != TensorKind::kFrozen; }
};

struct ProgramAttach {
  std::vector<ProgramTensor> tensors;  // In forward order.
  uint32_t train_samples = 0;
  uint32_t test_samples = 0;
  uint32_t lookahead = 0;
  uint32_t micro_batch = 0;  // Wants whole ones of so many; 0: any number.
  bool extends = false;      // Takes steps with kGoesOn.
  std::optional<std::string> optimizer;
  std::optional<double> learning_rate;  // For whoever makes the job.
};
// INVALID_ARGUMENT also if a trainer has no training samples or nothing to
// push, or an evaluator no test samples.
absl::StatusOr<ProgramAttach> ParseAttach(absl::string_view body,
                                          bool evaluator);

// Tensors [first, end).
struct TensorRun {
  uint32_t first = 0;
  uint32_t end = 0;
};
// INVALID_ARGUMENT unless they are some of `tensors`.
absl::StatusOr<TensorRun> ParseReady(absl::string_view body, size_t tensors);

struct ProgramDone {
  static constexpr uint32_t kNotFinite = 1;

  int64_t iteration = 0;
  double loss_sum = 0;
  uint32_t samples = 0;
  uint32_t flags = 0;
  uint64_t load_ns = 0;
  uint64_t compute_ns = 0;
};
absl::StatusOr<ProgramDone> ParseDone(absl::string_view body);

// The iteration.
absl::StatusOr<int64_t> ParseAbandoned(absl::string_view body);

struct ProgramEvaluated {
  int64_t snapshot = 0;
  std::map<std::string, double> metrics;
};
// At most 16 metrics beside accuracy and loss, of plain names.
absl::StatusOr<ProgramEvaluated> ParseEvaluated(absl::string_view body);

// Why the program cannot go on: its code and its message, at most 4 KiB of it.
// A code that there is not is UNKNOWN, and so is INTERNAL: to a coordinator
// that is a machine's own trouble, which others need not have. Never OK.
struct ProgramFailed {
  absl::Status why;
};
absl::StatusOr<ProgramFailed> ParseFailed(absl::string_view body);

// Of the agent.

struct ProgramJob {
  std::string job;
  std::string worker;
  bool evaluator = false;
  std::map<std::string, std::string> arguments;
  uint64_t seed = 0;
  uint32_t batch_size = 0;
  uint32_t micro_batch = 0;
  std::string wire;
  std::string optimizer;
  double learning_rate = 0;
  std::string data;
};
std::string JobFrame(const ProgramJob& job);

std::string BeginFrame(bool initialize, uint64_t weights_bytes,
                       uint64_t gradients_bytes);
std::string WeightsFrame(const TensorRun& tensors);
// REQUIRES: at most kLotSamplesMax.
std::string LotFrame(uint32_t epoch, absl::Span<const uint32_t> samples);

struct ProgramStep {
  static constexpr uint32_t kOverlap = 1;
  static constexpr uint32_t kGoesOn = 2;

  int64_t iteration = 0;
  uint32_t epoch = 0;
  uint32_t samples = 0;
  uint32_t micro_batch = 0;
  uint32_t flags = 0;
  double rate = 0;
  int64_t version = 0;
  int64_t trained = 0;
};
std::string StepFrame(const ProgramStep& step);
// Of kRefresh and kAbandon.
std::string IterationFrame(FrameKind kind, int64_t iteration);
std::string EvaluateFrame(int64_t snapshot, uint64_t samples);
std::string StopFrame(absl::string_view reason);
std::string RefusedFrame(const absl::Status& status);
// One without a body.
std::string EmptyFrame(FrameKind kind);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_MESSAGES_H_
