// What a program sends to its agent: frames, JSON and structs.

#include <cmath>
#include <limits>

#include "services/worker/program/program_arenas.h"
#include "services/worker/program/program_messages.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr size_t kTensors = 7;

void CheckAttach(const ProgramAttach& attach, bool evaluator) {
  CHECK(!attach.tensors.empty());
  CHECK((evaluator ? attach.test_samples : attach.train_samples) > 0);
  int64_t elements = 0;
  std::vector<uint64_t> sizes;
  for (const ProgramTensor& tensor : attach.tensors) {
    CHECK(!tensor.name.empty());
    int64_t product = 1;
    for (const int64_t extent : tensor.shape) product *= extent;
    CHECK(tensor.size == product && tensor.size >= 1);
    elements += tensor.size;
    CHECK(elements <= int64_t{1} << 38);
    sizes.push_back(static_cast<uint64_t>(tensor.size) * sizeof(float));
    CHECK(tensor.rate_factor.value_or(0) >= 0);
    CHECK(tensor.weight_decay.value_or(0) <= 1);
    CHECK(tensor.momentum.value_or(1) > 0);
  }
  // Behind each other, and none over another.
  const ArenaLayout layout = LayOut(sizes);
  uint64_t end = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    CHECK(layout.offsets[i] >= end);
    CHECK(layout.offsets[i] % ArenaLayout::kAlignment == 0);
    end = layout.offsets[i] + sizes[i];
  }
  CHECK(layout.bytes == end);
}

void Decode(FrameKind kind, absl::string_view body) {
  switch (kind) {
    case FrameKind::kHello:
      return ExpectInvalidArgument(ParseHello(body).status());
    case FrameKind::kAttach:
      for (const bool evaluator : {false, true}) {
        const auto attach = ParseAttach(body, evaluator);
        ExpectInvalidArgument(attach.status());
        if (attach.ok()) CheckAttach(*attach, evaluator);
      }
      return;
    case FrameKind::kReady: {
      const auto ready = ParseReady(body, kTensors);
      ExpectInvalidArgument(ready.status());
      if (ready.ok())
        CHECK(ready->first < ready->end && ready->end <= kTensors);
      return;
    }
    case FrameKind::kDone:
      return ExpectInvalidArgument(ParseDone(body).status());
    case FrameKind::kAbandoned:
      return ExpectInvalidArgument(ParseAbandoned(body).status());
    case FrameKind::kEvaluated: {
      const auto evaluated = ParseEvaluated(body);
      ExpectInvalidArgument(evaluated.status());
      if (!evaluated.ok()) return;
      for (const auto& [name, value] : evaluated->metrics) {
        CHECK(!name.empty() && std::isfinite(value));
      }
      return;
    }
    case FrameKind::kFailed: {
      const auto failed = ParseFailed(body);
      ExpectInvalidArgument(failed.status());
      if (failed.ok()) {
        CHECK(!failed->why.ok() && !failed->why.message().empty());
        CHECK(failed->why.message().size() <= 4096);
      }
      return;
    }
    default:
      return;
  }
}

std::string Seed(FrameKind kind, absl::string_view body) {
  return FrameBytes(kind, body);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {Seed(FrameKind::kHello,
               R"({"protocol": 1, "pid": 7, "language": "python 3.11"})"),
          Seed(FrameKind::kAttach,
               R"({"tensors": [{"name": "w", "shape": [2, 3], "rate_factor": 1},
               {"name": "m", "shape": [], "kind": "statistic",
                "momentum": 0.1},
               {"name": "f", "shape": [9], "kind": "frozen"}],
               "train_samples": 10, "test_samples": 3, "lookahead": 4,
               "micro_batch": 2,
               "optimizer": "sgd:momentum=0.9"})"),
          Seed(FrameKind::kInitialized, "") +
              Seed(FrameKind::kReady, std::string("\0\0\0\0\2\0\0\0", 8)) +
              Seed(FrameKind::kDone, std::string(40, '\1')),
          Seed(FrameKind::kAbandoned, std::string(8, '\1')),
          Seed(FrameKind::kEvaluated,
               R"({"snapshot": 3, "metrics": {"loss": 1.5, "top5": 1}})"),
          Seed(FrameKind::kFailed,
               R"({"code": "INVALID_ARGUMENT", "message": "no"})"),
          Seed(FrameKind::kAttach, std::string(30'000, '['))};
}

void FuzzOne(absl::string_view input) {
  while (input.size() >= kFrameHeaderBytes) {
    const auto header = ParseFrameHeader(input.substr(0, kFrameHeaderBytes));
    ExpectInvalidArgument(header.status());
    if (!header.ok()) return;
    CHECK(header->length <= kFrameBodyMax);
    input.remove_prefix(kFrameHeaderBytes);
    // Where a frame is cut off, what there is of it is one.
    const absl::string_view body = input.substr(0, header->length);
    Decode(header->kind, body);
    input.remove_prefix(body.size());
  }
}

}  // namespace paceline
