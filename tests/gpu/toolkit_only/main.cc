// The CUDA backend on a card: compared with its CPU twin, and timed.
//
//   run_on_gpu conformance | models [NAME...] | speed | floor | overlap

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/job/names.h"
#include "gpu/gpu_device.h"
#include "services/worker/data/synthetic.h"
#include "services/worker/model/model.h"
#include "tests/gpu/step_check.h"
#include "tests/gpu/toolkit_only/measured_backend.h"
#include "tests/gpu/toolkit_only/overlap.h"
#include "tests/gpu/twins.h"
#include "tests/services/worker/model/pushed_gradients.h"
#include "tests/services/worker/model/sgd.h"

namespace paceline {
namespace {

struct NamedPrecision {
  const char* name;
  Precision precision;
};
constexpr NamedPrecision kPrecisions[] = {{"fp32", Precision::kF32},
                                          {"tf32", Precision::kTf32},
                                          {"bf16", Precision::kBf16}};

std::unique_ptr<Backend> Cuda(Precision precision) {
  auto cuda = MakeBackend("cuda", {.precision = precision});
  if (cuda.ok()) return *std::move(cuda);
  std::fprintf(stderr, "run_on_gpu: %s\n",
               std::string(cuda.status().message()).c_str());
  std::exit(2);
}

// Every operation, in every precision. How many cases differ.
int Conformance() {
  int wrong = 0;
  const auto cpu = *MakeBackend("cpu");
  for (const auto& [name, precision] : kPrecisions) {
    const auto cuda = Cuda(precision);
    const std::string step = StepDiffers(*cuda);
    if (!step.empty()) {
      std::printf("  %s steps: %s\n", name, step.c_str());
      ++wrong;
    }
    for (const TwinFamily& family : TwinFamilies()) {
      int cases = 0, bad = 0;
      for (const TwinCase& twin_case : family.cases()) {
        const std::string differs =
            Differs(*cuda, *cpu, twin_case, ToleranceOf(precision));
        ++cases;
        if (differs.empty()) continue;
        ++bad;
        std::printf("  %s %s: %s\n", name, family.name, differs.c_str());
      }
      std::printf("%-5s %-22s %4d cases, %d differ\n", name, family.name, cases,
                  bad);
      wrong += bad;
    }
  }
  return wrong;
}

const Dataset& Data() {
  static const auto* const data =
      new Dataset(*DrawSynthetic("color-shapes", Split::kTrain));
  return *data;
}

std::unique_ptr<Model> Make(absl::string_view name, Backend& backend,
                            int batch) {
  auto model =
      Model::Create(name, Data().shape(), Data().classes(), &backend, batch);
  if (!model.ok() || !(*model)->Initialize(1).ok()) {
    std::fprintf(stderr, "run_on_gpu: %s: %s\n", std::string(name).c_str(),
                 std::string(model.status().message()).c_str());
    std::exit(2);
  }
  return *std::move(model);
}

struct Batch {
  std::vector<float> images;
  std::vector<uint8_t> labels;
};

Batch FirstOf(uint32_t n) {
  std::vector<uint32_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  Batch batch{std::vector<float>(n * Data().shape().size()),
              std::vector<uint8_t>(n)};
  Data().Gather(indices, batch.images.data(), batch.labels.data());
  return batch;
}

// Each second weight by the smallest step that there is.
void RoundOtherwise(Model& model) {
  for (size_t t = 0; t < model.tensors().size(); ++t) {
    const auto values = model.parameter(t);
    for (size_t i = t % 2; i < values.size(); i += 2) {
      values[i] = std::nextafter(values[i], 2 * values[i]);
    }
  }
  if (!model.ParametersChanged().ok()) std::exit(2);
}

// What a model makes of a batch, and of a few steps.
struct Course {
  std::vector<std::vector<float>> gradients;
  double loss;  // Of the same batch after the steps.
};

Course CourseOf(Model& model, Backend& backend, const Batch& batch) {
  const int size = static_cast<int>(batch.labels.size());
  if (!model
           .ForwardBackward(batch.images.data(), batch.labels.data(), size,
                            1.0f / static_cast<float>(size), true)
           .ok() ||
      !model.FetchGradients().ok()) {
    std::exit(2);
  }
  Course course;
  for (size_t t = 0; t < model.tensors().size(); ++t) {
    const auto gradient = model.gradient(t);
    course.gradients.emplace_back(gradient.begin(), gradient.end());
  }
  Sgd(model, backend, Data(), {.batch = size}).Train(0, 0, 10);
  course.loss =
      model.Evaluate(batch.images.data(), batch.labels.data(), size)->loss_sum;
  return course;
}

struct Distance {
  double gradients;  // Of the tensor that is furthest apart.
  double loss;
};

Distance Between(const Course& a, const Course& b) {
  Distance distance{0, std::abs(a.loss / b.loss - 1)};
  for (size_t t = 0; t < a.gradients.size(); ++t) {
    distance.gradients = std::max(
        distance.gradients, RelativeError(a.gradients[t], b.gradients[t]));
  }
  return distance;
}

// Whole models: gradients, and the loss after 10 steps. How far the card may be
// from the CPU is said by the CPU itself, from weights that are rounded
// otherwise: behind a ReLU at its kink and a norm of few values, a rounding is
// soon half a percent.
int Models(absl::Span<const absl::string_view> names) {
  constexpr int kBatch = 8;
  constexpr double kTimes = 10, kLeastGradients = 1e-5, kLeastLoss = 1e-3;
  int wrong = 0;
  const auto cpu = *MakeBackend("cpu");
  const auto cuda = Cuda(Precision::kF32);
  const Batch batch = FirstOf(kBatch);
  for (const absl::string_view name : names) {
    const auto on_cuda = Make(name, *cuda, kBatch);
    const auto on_cpu = Make(name, *cpu, kBatch);
    const auto rounded = Make(name, *cpu, kBatch);
    RoundOtherwise(*rounded);
    const Course right = CourseOf(*on_cpu, *cpu, batch);
    const Distance card = Between(CourseOf(*on_cuda, *cuda, batch), right);
    const Distance rounding = Between(CourseOf(*rounded, *cpu, batch), right);
    const std::string pushing =
        PushedGradientsDiffer(*on_cuda, batch.images, batch.labels);
    // Written so that NaN is wrong.
    const bool good = pushing.empty() &&
                      card.gradients <= std::max(kLeastGradients,
                                                 kTimes * rounding.gradients) &&
                      card.loss <= std::max(kLeastLoss, kTimes * rounding.loss);
    wrong += good ? 0 : 1;
    std::printf(
        "%-14s gradients %.1e (a rounding: %.1e), loss after 10 steps %.1e "
        "(%.1e)%s %s\n",
        std::string(name).c_str(), card.gradients, rounding.gradients,
        card.loss, rounding.loss, good ? "" : "   <- too much",
        pushing.c_str());
  }
  return wrong;
}

constexpr int kTimedBatch = 128;
constexpr const char* kTimedModels[] = {"resnet20", "resnet50", "resnet110",
                                        "alexnet-small"};

// Seconds of `run`, on average, on a device that has warmed up.
double SecondsOf(Backend& backend, int times,
                 const std::function<void()>& run) {
  run();
  if (!backend.Synchronize().ok()) std::exit(2);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  if (!backend.Synchronize().ok()) std::exit(2);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  return took.count() / times;
}

// A model, and a batch for it in pinned memory.
class TimedStep {
 public:
  TimedStep(const char* name, Backend* backend)
      : images_(*backend->AllocateHost(kTimedBatch * Data().shape().size())),
        model_(Make(name, *backend, kTimedBatch)),
        labels_(FirstOf(kTimedBatch).labels) {
    const Batch batch = FirstOf(kTimedBatch);
    std::copy(batch.images.begin(), batch.images.end(), images_->span().data);
  }

  // As a worker does it, up to the gradients on the host.
  void Run() {
    if (!model_
             ->ForwardBackward(images_->span().data, labels_.data(),
                               kTimedBatch, 1.0f / kTimedBatch, true,
                               [](size_t) {})
             .ok()) {
      std::exit(2);
    }
  }

 private:
  std::unique_ptr<Buffer> images_;
  std::unique_ptr<Model> model_;
  std::vector<uint8_t> labels_;
};

// Images a second of a training step.
int Speed() {
  constexpr int kWarmUp = 20, kSteps = 200;
  for (const auto& [precision_name, precision] : kPrecisions) {
    const auto cuda = Cuda(precision);
    for (const char* name : kTimedModels) {
      TimedStep step(name, cuda.get());
      for (int i = 0; i < kWarmUp; ++i) step.Run();
      const double seconds = SecondsOf(*cuda, kSteps, [&] { step.Run(); });
      std::printf("paceline %s %s %.0f\n", name, precision_name,
                  kTimedBatch / seconds);
    }
  }
  return 0;
}

// Operations a second of a large matrix product, and bytes a second of a large
// copy, both ways counted.
struct Rates {
  double operations;
  double bytes;
};

Rates RatesOf(Backend& cuda) {
  constexpr int64_t kSide = 4096, kCopied = int64_t{64} << 20;
  constexpr double kProduct = 2.0 * kSide * kSide * kSide;
  const auto a = *cuda.Allocate(kCopied), b = *cuda.Allocate(kCopied);
  const auto c = *cuda.Allocate(kSide * kSide);
  const GemmShape shape{.m = kSide, .n = kSide, .k = kSide};
  const int64_t size = kSide * kSide;
  return {kProduct / SecondsOf(cuda, 20,
                               [&] {
                                 cuda.Gemm(shape, 1, a->span().First(size),
                                           b->span().First(size), 0, c->span());
                               }),
          2.0 * kCopied * sizeof(float) /
              SecondsOf(cuda, 20, [&] { cuda.Copy(a->span(), b->span()); })};
}

// How far a step is from what the card could do at best: its matrix products at
// the rate of a large one, and behind them all other operations at the rate of
// a large copy. And where its time goes, operation by operation: each is waited
// for, so the sum is more than the step.
int Floor() {
  for (const auto& [precision_name, precision] : kPrecisions) {
    const auto cuda = Cuda(precision);
    const Rates rates = RatesOf(*cuda);
    std::printf("%s: %.1f Tflop/s, %.0f GB/s\n", precision_name,
                rates.operations / 1e12, rates.bytes / 1e9);
    for (const char* name : kTimedModels) {
      TimedStep step(name, cuda.get());
      for (int i = 0; i < 20; ++i) step.Run();
      const double seconds = SecondsOf(*cuda, 100, [&] { step.Run(); });
      MeasuredBackend measured(cuda.get());
      TimedStep piecewise(name, &measured);
      piecewise.Run();
      measured.Forget();
      piecewise.Run();
      double floor = 0;
      for (const auto& [kind, cost] : measured.costs()) {
        floor += cost.operations > 0 ? cost.operations / rates.operations
                                     : cost.bytes / rates.bytes;
      }
      std::printf("%s %s: step %.3f ms, floor %.3f ms, share %.2f\n", name,
                  precision_name, seconds * 1e3, floor * 1e3, floor / seconds);
      for (const auto& [kind, cost] : measured.costs()) {
        std::printf(
            "  %-22s %4d calls %8.3f ms  of matrix rate %.2f  of copy rate "
            "%.2f\n",
            kind.c_str(), cost.calls, cost.seconds * 1e3,
            cost.operations / rates.operations / cost.seconds,
            cost.bytes / rates.bytes / cost.seconds);
      }
    }
  }
  return 0;
}

int Overlap() {
  for (const auto& [name, precision] : kPrecisions) {
    const auto times = MeasureOverlap(*Cuda(precision), /*batch=*/128,
                                      /*steps=*/30);
    if (!times.ok()) {
      std::fprintf(stderr, "run_on_gpu: %s\n",
                   std::string(times.status().message()).c_str());
      return 1;
    }
    std::printf(
        "%-5s %.1f M parameters: step %.1f ms without network, %.1f ms with "
        "it, ratio %.2f; the network alone %.1f ms\n",
        name, times->parameters / 1e6, times->network_off * 1e3,
        times->network_on * 1e3, times->network_on / times->network_off,
        times->network_alone * 1e3);
  }
  return 0;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  // A run that is cut short has said what it found.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argc >= 2 ? argv[1] : "";
  if (what == "models") {
    const std::vector<absl::string_view> names(argv + 2, argv + argc);
    return paceline::Models(names.empty() ? paceline::ModelNames() : names) == 0
               ? 0
               : 1;
  }
  if (argc == 2 && what == "conformance") {
    return paceline::Conformance() == 0 ? 0 : 1;
  }
  if (what == "speed") return paceline::Speed();
  if (what == "floor") return paceline::Floor();
  if (what == "overlap") return paceline::Overlap();
  std::fprintf(
      stderr,
      "usage: run_on_gpu conformance | models [NAME...] | speed | floor | "
      "overlap\n");
  return 2;
}
