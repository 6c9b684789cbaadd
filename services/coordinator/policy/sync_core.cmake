# The engine's transition logic: everything of one job that decides, around a
# policy.
paceline_library(sync_core
  SRCS
    batch_balancer.cc
    fences.cc
    membership.cc
    placement.cc
    rate_schedule.cc
    round_ledger.cc
    sample_dealer.cc
    straggler_detector.cc
    sync_core.cc
    sync_core_plans.cc
    sync_core_pushes.cc
    sync_core_switch.cc
  DEPS
    paceline::base
    paceline::policy
    absl::btree
    absl::inlined_vector
    absl::span
    absl::status
    absl::statusor
    absl::strings
    absl::time)
