#ifndef PACELINE_GPU_LANES_H_
#define PACELINE_GPU_LANES_H_

#include <functional>

#include "absl/status/status.h"

namespace paceline {

// What a device does at the same time. A lane keeps the order of its calls;
// between lanes there is no order but what marks make.
enum class Lane {
  kCompute,  // All operations but copies to and from the host.
  kUpload,
  kDownload,
};

// A point in a lane that other lanes, and the host, can wait for
// (Backend::Set, Follow, Await). It must not outlive the backend.
class Mark {
 public:
  virtual ~Mark() = default;
};

// Operations that are run again and again: a device may remember them and
// repeat them at one stroke (a CUDA graph). It must not outlive the backend.
// Thread-compatible, as the backend is.
class RepeatedStep {
 public:
  virtual ~RepeatedStep() = default;

  // Gives kCompute the operations that `queue` calls: every time the same ones,
  // on the same memory, with the same sizes and factors. `queue` may be
  // called never, or more than once while the operations are done once: it has
  // no effect of its own.
  virtual void Run(const std::function<void()>& queue) = 0;

  // Only within `queue`: `between` is called once in every run, behind what was
  // given to kCompute before. Marks, and copies from and to the host, belong
  // here.
  virtual void Between(std::function<void()> between) = 0;

  // Whether the last run was repeated from memory.
  virtual bool repeated() const = 0;

  // What keeps the device from remembering it, though it has tried; else OK.
  virtual absl::Status obstacle() const = 0;
};

// A step that is not remembered: every run calls everything.
class PlainStep final : public RepeatedStep {
 public:
  void Run(const std::function<void()>& queue) override { queue(); }
  void Between(std::function<void()> between) override { between(); }
  bool repeated() const override { return false; }
  absl::Status obstacle() const override { return absl::OkStatus(); }
};

}  // namespace paceline

#endif  // PACELINE_GPU_LANES_H_
