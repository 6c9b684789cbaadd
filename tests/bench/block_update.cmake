paceline_benchmark(block_update_bench
  SRCS block_update_bench.cc
  DEPS paceline::plain_update paceline::shard)

# The loop that the shard is measured against, built as its kernels are.
if(PACELINE_BENCHMARKS)
  paceline_library(plain_update SRCS plain_update.cc KERNELS)
endif()
