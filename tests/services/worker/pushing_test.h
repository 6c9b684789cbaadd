#ifndef PACELINE_TESTS_SERVICES_WORKER_PUSHING_TEST_H_
#define PACELINE_TESTS_SERVICES_WORKER_PUSHING_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "services/worker/parameter_client.h"
#include "tests/services/worker/fake_parameters.h"

namespace paceline {

// A client that pushes a trained tensor, which is block 0, and a statistic,
// block 1. Their gradients are fp32 in memory.
class PushingTest : public ::testing::Test {
 protected:
  PushingTest(DType wire, size_t trained, size_t statistics, bool unconverted)
      : weights_(trained, 1.0f),
        means_(statistics, 2.0f),
        gradient_(trained),
        statistics_(statistics, 0.1f) {
    v1::WorkerReady ready;
    ready.add_tensors()->set_size(static_cast<int64_t>(trained));
    ready.add_tensors()->set_size(static_cast<int64_t>(statistics));
    ready.mutable_tensors(1)->set_kind(v1::TensorSpec::STATISTIC);
    TensorArrays arrays;
    arrays.parameters = {absl::MakeSpan(weights_), absl::MakeSpan(means_)};
    arrays.gradients = {BytesOf(gradient_), BytesOf(statistics_)};
    arrays.kinds = {TensorKind::kTrained, TensorKind::kStatistic};
    arrays.unconverted = unconverted;
    auto client = ParameterClient::Connect(
        server_.Begin(ready, /*initialize=*/true), std::move(arrays),
        {.incarnation = 7, .wire = wire, .lease = absl::Seconds(10), .run = 5});
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    EXPECT_TRUE(client_->SetAll().ok());
  }

  // With another gradient each time.
  void Begin() {
    for (float& g : gradient_) g = static_cast<float>(2 * rng_.Unit() - 1);
    v1::PushBlock header;
    header.set_iteration(++iteration_);
    header.set_samples(1);
    client_->BeginPush(header);
    client_->PushTensors(1, 2);
    client_->PushTensors(0, 1);
  }
  PushResult Finish() {
    const absl::StatusOr<PushResult> pushed = client_->FinishPush();
    EXPECT_TRUE(pushed.ok()) << pushed.status();
    return pushed.ok() ? *pushed : PushResult();
  }

  Rng rng_{1};
  std::vector<float> weights_;
  std::vector<float> means_;
  std::vector<float> gradient_;
  std::vector<float> statistics_;
  int64_t iteration_ = 0;
  FakeParameters server_;
  std::unique_ptr<ParameterClient> client_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_PUSHING_TEST_H_
