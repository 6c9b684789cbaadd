#include "services/worker/task.h"

#include <fstream>
#include <string>

#include "common/job/names.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

TEST(TaskCacheTest, AnotherAssignmentOfTheSameKindHasTheSameTask) {
  TaskCache cache(1, /*evaluator=*/false, {});
  Task* const first = *cache.Get(AssignmentOf(1));
  v1::Assignment again = AssignmentOf(1);
  again.set_run(77);
  again.set_incarnation(78);
  again.set_lease_ms(1234);
  again.mutable_job()->set_paradigm("asp");
  again.mutable_job()->mutable_workers()->set_max(3);
  Task* const second = *cache.Get(again);
  EXPECT_EQ(first, second);
  EXPECT_EQ(second->run(), 77u);
  EXPECT_EQ(second->incarnation(), 78u);
  EXPECT_EQ(second->lease(), absl::Milliseconds(1234));
  EXPECT_EQ(second->job().paradigm(), "asp");
}

TEST(TaskCacheTest, WhatThePreparationDependsOnIsTheKey) {
  const v1::JobSpec job = AssignmentOf(1).job();
  const auto differs = [&job](auto change) {
    v1::JobSpec other = job;
    change(other);
    return Task::KeyOf(other) != Task::KeyOf(job);
  };
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_model("mlp"); }));
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_data("x"); }));
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_batch_size(9); }));
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_micro_batch(9); }));
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_wire(v1::BF16); }));
  EXPECT_TRUE(differs([](v1::JobSpec& spec) { spec.set_seed(9); }));
  EXPECT_FALSE(differs([](v1::JobSpec& spec) { spec.set_learning_rate(9); }));
}

TEST(TaskCacheTest, TheOneLeastRecentlyUsedGivesWay) {
  TaskCache cache(2, /*evaluator=*/true, {});
  Task* const first = *cache.Get(AssignmentOf(1));
  ASSERT_TRUE(cache.Get(AssignmentOf(2)).ok());
  EXPECT_EQ(*cache.Get(AssignmentOf(1)), first);
  ASSERT_TRUE(cache.Get(AssignmentOf(3)).ok());  // 2 goes.
  EXPECT_EQ(*cache.Get(AssignmentOf(1)), first);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(TaskCacheTest, WhatCannotBePreparedIsNotKept) {
  TaskCache cache(2, /*evaluator=*/false, {});
  Task* const first = *cache.Get(AssignmentOf(1));
  EXPECT_TRUE(absl::IsInvalidArgument(
      cache.Get(AssignmentOf(2, "synthetic:none")).status()));
  v1::Assignment no_batch = AssignmentOf(2);
  no_batch.mutable_job()->clear_batch_size();
  EXPECT_TRUE(absl::IsInvalidArgument(cache.Get(no_batch).status()));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(*cache.Get(AssignmentOf(1)), first);
}

// A file as CIFAR-100 has it, with one image of the class 99.
void WriteFineRecord(const std::string& path) {
  std::ofstream(path, std::ios::binary)
      << '\0' << '\x63' << std::string(3072, '\x40');
}

TEST(TaskTest, AModelHasAsManyClassesAsItsData) {
  const TestFolder folder;
  WriteFineRecord(folder.Path("train.bin"));
  TaskHost host;
  host.data.anywhere = true;
  v1::Assignment assignment = AssignmentOf(1, "cifar100:" + folder.path());
  for (const absl::string_view model : ModelNames()) {
    assignment.mutable_job()->set_model(std::string(model));
    const auto task = Task::Prepare(assignment, /*evaluator=*/false, host);
    ASSERT_TRUE(task.ok()) << model << ": " << task.status();
    const v1::WorkerReady ready = (*task)->computation().Ready();
    EXPECT_EQ(ready.train_samples(), 1u);
    EXPECT_EQ(ready.tensors().rbegin()->size(), 100) << model;
  }
}

}  // namespace
}  // namespace paceline
