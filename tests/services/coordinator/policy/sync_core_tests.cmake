# The sync core, class by class.
paceline_test(sync_core_units_test
  SRCS
    batch_balancer_test.cc
    fences_test.cc
    membership_test.cc
    output_text.cc
    placement_test.cc
    rate_schedule_test.cc
    round_ledger_test.cc
    sample_dealer_test.cc
    sample_position_test.cc
    straggler_detector_test.cc
    sync_core_changes_test.cc
    sync_core_signals_test.cc
    sync_core_test.cc
  DEPS paceline::sync_core
  SEPARATE)

# tests/testdata/sync_core/*.txt, call by call.
paceline_test(sync_core_script_test
  SRCS
    output_text.cc
    script_files.cc
    sync_core_script.cc
    sync_core_script_test.cc
  DEPS paceline::sync_core)

# What always holds, over thousands of seeds.
paceline_test(sync_core_simulation_test
  SRCS
    fake_server.cc
    history_checker.cc
    output_text.cc
    resume_point_test.cc
    simulated_job.cc
    simulated_worker.cc
    sync_core_simulation_test.cc
  DEPS paceline::sync_core)
