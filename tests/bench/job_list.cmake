if(PACELINE_GRPC)
  paceline_benchmark(job_list_bench
    SRCS job_list_bench.cc
    DEPS paceline::job_rules)
endif()
