paceline_benchmark(policy_bench
  SRCS policy_bench.cc
  DEPS paceline::policy)
