paceline_benchmark(checkpoint_bench
  SRCS checkpoint_bench.cc
  DEPS paceline::shard)
