# The paradigms that move a barrier, open it to a part of the workers or put it
# off.
paceline_test(second_ring_test
  SRCS first_k_test.cc psp_test.cc worker_sampler_test.cc zip_line_test.cc
  DEPS paceline::policy)

# What always holds of them, over thousands of seeds.
paceline_test(second_ring_scenarios_test
  SRCS asking_cluster.cc asking_cluster_actions.cc second_ring_scenarios_test.cc
  DEPS paceline::policy)
