// The CUDA backend on a card: compared with its CPU twin, and timed.
//
//   run_on_gpu conformance | models | speed

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/gpu_device.h"
#include "services/worker/data/synthetic.h"
#include "services/worker/model/model.h"
#include "services/worker/model/model_names.h"
#include "tests/gpu/twins.h"
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

// Whole models: gradients, and the loss after 10 and 100 steps.
int Models() {
  constexpr int kBatch = 8;
  int wrong = 0;
  const auto cpu = *MakeBackend("cpu");
  const auto cuda = Cuda(Precision::kF32);
  const Batch batch = FirstOf(kBatch);
  for (const absl::string_view name : ModelNames()) {
    const auto a = Make(name, *cuda, kBatch), b = Make(name, *cpu, kBatch);
    double worst = 0;
    for (Model* model : {a.get(), b.get()}) {
      if (!model
               ->ForwardBackward(batch.images.data(), batch.labels.data(),
                                 kBatch, 1.0f / kBatch, true)
               .ok()) {
        return 1;
      }
    }
    for (size_t t = 0; t < a->tensors().size(); ++t) {
      const auto x = a->gradient(t), y = b->gradient(t);
      worst = std::max(
          worst, RelativeError({x.begin(), x.end()}, {y.begin(), y.end()}));
    }
    const SgdOptions options{.batch = kBatch};
    Sgd on_cuda(*a, Data(), options), on_cpu(*b, Data(), options);
    double apart[2];
    uint32_t done = 0;
    for (int i = 0; i < 2; ++i) {
      const uint32_t steps = i == 0 ? 10 : 100;
      on_cuda.Train(0, done, steps);
      on_cpu.Train(0, done, steps);
      done = steps;
      const auto x =
          a->Evaluate(batch.images.data(), batch.labels.data(), kBatch);
      const auto y =
          b->Evaluate(batch.images.data(), batch.labels.data(), kBatch);
      apart[i] = std::abs(x->loss_sum / y->loss_sum - 1);
    }
    const bool good = worst <= 1e-3 && apart[0] <= 1e-3 && apart[1] <= 5e-2;
    wrong += good ? 0 : 1;
    std::printf(
        "%-14s gradients %.1e, loss after 10 steps %.1e, after 100 %.1e"
        "%s\n",
        std::string(name).c_str(), worst, apart[0], apart[1],
        good ? "" : "   <- too much");
  }
  return wrong;
}

// Images a second of a training step: forward and backward, gradients on the
// host, as a worker does it.
int Speed() {
  constexpr int kBatch = 128, kWarmUp = 20, kSteps = 200;
  const Batch batch = FirstOf(kBatch);
  for (const auto& [precision_name, precision] : kPrecisions) {
    const auto cuda = Cuda(precision);
    for (const char* name :
         {"resnet20", "resnet50", "resnet110", "alexnet-small"}) {
      const auto model = Make(name, *cuda, kBatch);
      const auto step = [&] {
        return model
            ->ForwardBackward(batch.images.data(), batch.labels.data(), kBatch,
                              1.0f / kBatch, true)
            .ok();
      };
      for (int i = 0; i < kWarmUp; ++i) {
        if (!step()) return 1;
      }
      const auto began = std::chrono::steady_clock::now();
      for (int i = 0; i < kSteps; ++i) {
        if (!step()) return 1;
      }
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - began;
      std::printf("paceline %s %s %.0f\n", name, precision_name,
                  kSteps * kBatch / took.count());
    }
  }
  return 0;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "conformance") return paceline::Conformance() == 0 ? 0 : 1;
  if (what == "models") return paceline::Models() == 0 ? 0 : 1;
  if (what == "speed") return paceline::Speed();
  std::fprintf(stderr, "usage: run_on_gpu conformance | models | speed\n");
  return 2;
}
