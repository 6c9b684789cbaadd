#include "tests/gpu/toolkit_only/overlap.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/model.h"
#include "tests/gpu/device_memory.h"

namespace paceline {
namespace {

constexpr int64_t kWidth = 155;
constexpr int kBlocks = 3;
constexpr ImageShape kImages{3, 32, 32};

Chain Branch(const FeatureShape& input, const std::string& name,
             int64_t channels, int64_t stride) {
  Chain branch(input);
  const auto conv = [&](int64_t s) {
    return ConvOptions{.channels = channels,
                       .kernel = 3,
                       .stride = s,
                       .pad = 1,
                       .bias = false};
  };
  branch.Conv(name + ".conv1", conv(stride)).BatchNorm(name + ".bn1").Relu();
  branch.Conv(name + ".conv2", conv(1)).BatchNorm(name + ".bn2");
  return branch;
}

// A wide residual network (Zagoruyko and Komodakis, "Wide Residual Networks",
// 2016), whose parameters cost as much computation as those of large models do.
Chain WideResnet() {
  Chain net({.layout = Layout::kImages,
             .channels = kImages.channels,
             .height = kImages.height,
             .width = kImages.width});
  net.ToPlanes().Conv(
      "conv1", {.channels = kWidth, .kernel = 3, .pad = 1, .bias = false});
  for (int stage = 0; stage < 3; ++stage) {
    for (int block = 0; block < kBlocks; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      net.Residual(Branch(net.output(), absl::StrCat("b", stage, "_", block),
                          kWidth << stage, stride),
                   stride)
          .Relu();
    }
  }
  net.AveragePool(8).Flatten().Logits("fc", 10);
  return net;
}

// False at the end of the socket; likewise below.
bool SendAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes = bytes.substr(n);
  }
  return true;
}

bool ReceiveAll(int socket, absl::Span<float> to) {
  char* at = reinterpret_cast<char*>(to.data());
  for (size_t left = to.size() * sizeof(float); left > 0;) {
    const ssize_t n = recv(socket, at, left, 0);
    if (n <= 0) return false;
    at += n;
    left -= n;
  }
  return true;
}

// A parameter server at the other end of a local socket, which adds nothing up:
// it takes all gradients of a step and answers with as many weights. And the
// worker's threads that send and receive.
class Exchange {
 public:
  explicit Exchange(Model* model) : model_(*model) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_) == 0);
    server_ = std::thread([this] { Serve(); });
    sender_ = std::thread([this] { RunSender(); });
    receiver_ = std::thread([this] { RunReceiver(); });
  }
  ~Exchange() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    sender_.join();
    receiver_.join();
    shutdown(sockets_[0], SHUT_RDWR);
    server_.join();
    close(sockets_[0]);
    close(sockets_[1]);
  }

  void Push(size_t tensor) {
    const std::lock_guard lock(mutex_);
    to_send_.push_back(tensor);
    changed_.notify_all();
  }

  // Calls `arrived` with each tensor.
  void Pull(const std::function<void(size_t)>& arrived) {
    std::unique_lock lock(mutex_);
    ++pulls_;
    changed_.notify_all();
    for (size_t left = model_.tensors().size(); left > 0; --left) {
      changed_.wait(lock, [this] { return !arrived_.empty(); });
      const size_t tensor = arrived_.front();
      arrived_.pop_front();
      lock.unlock();
      arrived(tensor);
      lock.lock();
    }
  }

 private:
  void Serve() {
    std::vector<std::vector<float>> weights;
    for (size_t t = 0; t < model_.tensors().size(); ++t) {
      const auto values = model_.parameter(t);
      weights.emplace_back(values.begin(), values.end());
    }
    std::vector<float> gradient;
    while (true) {
      for (size_t t = weights.size(); t-- > 0;) {
        gradient.resize(weights[t].size());
        if (!ReceiveAll(sockets_[1], absl::MakeSpan(gradient))) return;
      }
      for (const auto& values : weights) {
        if (!SendAll(sockets_[1], BytesOf(values))) return;
      }
    }
  }

  void RunSender() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !to_send_.empty(); });
      if (to_send_.empty()) return;
      const size_t tensor = to_send_.front();
      to_send_.pop_front();
      lock.unlock();
      CHECK(SendAll(sockets_[0], model_.wire_gradient(tensor)));
      lock.lock();
    }
  }

  void RunReceiver() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || pulls_ > 0; });
      if (pulls_ == 0) return;
      --pulls_;
      for (size_t t = 0; t < model_.tensors().size(); ++t) {
        lock.unlock();
        CHECK(ReceiveAll(sockets_[0], model_.parameter(t)));
        lock.lock();
        arrived_.push_back(t);
        changed_.notify_all();
      }
    }
  }

  Model& model_;
  int sockets_[2];
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> to_send_;
  std::deque<size_t> arrived_;
  int pulls_ = 0;
  bool ending_ = false;
  std::thread server_;
  std::thread sender_;
  std::thread receiver_;
};

// Seconds of `step`, on average, once it has warmed up.
absl::StatusOr<double> SecondsOf(int steps,
                                 const std::function<absl::Status()>& step) {
  constexpr int kWarmUp = 5;
  std::chrono::steady_clock::time_point began;
  for (int i = 0; i < kWarmUp + steps; ++i) {
    if (i == kWarmUp) began = std::chrono::steady_clock::now();
    PACELINE_RETURN_IF_ERROR(step());
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  return took.count() / steps;
}

}  // namespace

absl::StatusOr<OverlapTimes> MeasureOverlap(Backend& backend, int batch,
                                            int steps) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> images,
                            backend.AllocateHost(batch * kImages.size()));
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                            Model::FromChain(WideResnet(), &backend, batch));
  PACELINE_RETURN_IF_ERROR(model->Initialize(1));
  OverlapTimes times;
  for (const TensorSpec& spec : model->tensors()) {
    times.parameters += static_cast<double>(spec.size);
  }
  const std::vector<float> pixels = RandomFloats(batch * kImages.size(), 1);
  std::copy(pixels.begin(), pixels.end(), images->span().data);
  const std::vector<uint8_t> labels(batch, 3);
  const auto compute =
      [&](const std::function<void(size_t)>& on_ready) -> absl::Status {
    PACELINE_ASSIGN_OR_RETURN(
        const BatchLoss loss,
        model->ForwardBackward(images->span().data, labels.data(), batch,
                               1.0f / static_cast<float>(batch), true,
                               on_ready));
    // Else nothing was pushed, and nothing would come back.
    if (std::isfinite(loss.loss_sum)) return absl::OkStatus();
    return absl::Status(absl::StatusCode::kInternal, "the loss is not finite");
  };
  PACELINE_ASSIGN_OR_RETURN(times.network_off, SecondsOf(steps, [&] {
                              return compute([](size_t) {});
                            }));
  Exchange exchange(model.get());
  const auto push = [&](size_t tensor) { exchange.Push(tensor); };
  PACELINE_ASSIGN_OR_RETURN(
      times.network_on, SecondsOf(steps, [&] {
        PACELINE_RETURN_IF_ERROR(compute(push));
        exchange.Pull([&](size_t tensor) { model->ParameterArrived(tensor); });
        return model->ParametersChanged();
      }));
  PACELINE_ASSIGN_OR_RETURN(times.network_alone, SecondsOf(steps, [&] {
                              for (size_t t = model->tensors().size();
                                   t-- > 0;) {
                                push(t);
                              }
                              exchange.Pull([](size_t) {});
                              return absl::OkStatus();
                            }));
  return times;
}

}  // namespace paceline
