# One function per kind of target. A CMakeLists.txt is then a list of facts.
#
# The presets that build programs compile the files of a target together (a
# unity build), because most of the time goes into the same headers. SEPARATE
# exempts a target whose files use one name for two things.

# paceline_library(NAME SRCS... DEPS... [KERNELS | OPTIMIZED] [SEPARATE]): a static
# library, alias paceline::NAME. KERNELS marks numeric code, built with -O3 in
# every preset. OPTIMIZED marks decisions that tests try with thousands of seeds:
# they are optimized in `dev`, too. Under a sanitizer, which tries few seeds,
# optimizing would take longer than it saves.
function(paceline_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KERNELS;OPTIMIZED;SEPARATE" "" "SRCS;DEPS")
  if(arg_SRCS)
    add_library(paceline_${name} STATIC ${arg_SRCS})
    target_include_directories(paceline_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(paceline_${name} PUBLIC ${arg_DEPS}
                          PRIVATE paceline::warnings)
    if(arg_SEPARATE)
      set_target_properties(paceline_${name} PROPERTIES UNITY_BUILD OFF)
    endif()
    if(arg_KERNELS)
      target_compile_options(paceline_${name} PRIVATE -O3 -ffp-contract=off)
      if(PACELINE_ARCH AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
        target_compile_options(paceline_${name} PRIVATE -march=${PACELINE_ARCH})
      endif()
      # Instrumenting a loop keeps clang from vectorizing it as asked.
      if(PACELINE_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        target_compile_options(paceline_${name} PRIVATE -Wno-pass-failed)
      endif()
    elseif(arg_OPTIMIZED AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT PACELINE_SANITIZE)
      target_compile_options(paceline_${name} PRIVATE -O1)
    else()
      paceline_precompiled(paceline_${name})
    endif()
  else()
    add_library(paceline_${name} INTERFACE)
    target_include_directories(paceline_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(paceline_${name} INTERFACE ${arg_DEPS})
  endif()
  add_library(paceline::${name} ALIAS paceline_${name})
endfunction()

# paceline_binary(NAME SRCS... DEPS...): a program called NAME, in bin/.
function(paceline_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} paceline::release
                        paceline::warnings)
  paceline_precompiled(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name})
endfunction()

# paceline_test(NAME SRCS... DEPS... [LABELS...] [PROCESSORS n] [SERIAL]
# [SEPARATE]): a GoogleTest program, one CTest test. The time limit ends what
# hangs; it is far above what the slowest test takes on a slow machine under a
# sanitizer.
function(paceline_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;SEPARATE" "PROCESSORS"
                        "SRCS;DEPS;LABELS")
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock_main
                        paceline::tsan_mutex paceline::warnings)
  paceline_precompiled(${name} TESTS)
  target_compile_definitions(${name} PRIVATE
    PACELINE_TESTDATA="${PROJECT_SOURCE_DIR}/tests/testdata"
    PACELINE_BIN="${PROJECT_BINARY_DIR}/bin")
  add_test(NAME ${name} COMMAND ${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  if(arg_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${arg_PROCESSORS})
  endif()
  if(arg_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# paceline_benchmark(NAME SRCS... DEPS...): a Google Benchmark program in bin/;
# CTest runs it once with the least work, so that it cannot rot.
function(paceline_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  if(NOT PACELINE_BENCHMARKS)
    return()
  endif()
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} benchmark::benchmark_main
                        paceline::release paceline::warnings)
  paceline_precompiled(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_test(NAME ${name}_smoke
           COMMAND ${name} --benchmark_min_time=0.001
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 900 LABELS bench)
endfunction()

# paceline_fuzzer(NAME SRCS... DEPS... [RUNS n]): a fuzz target (tests/fuzz).
# In the preset `fuzz` libFuzzer drives it, in bin/fuzz/; in `asan` it is a CTest
# test of its seeds and n mutations of them.
function(paceline_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RUNS" "SRCS;DEPS")
  if(NOT arg_RUNS)
    set(arg_RUNS 2000)
  endif()
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} paceline::fuzz_driver
                        paceline::warnings)
  paceline_precompiled(${name})
  if(PACELINE_SANITIZE MATCHES "fuzzer")
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
    add_dependencies(fuzzers ${name})
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_RUNS}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS fuzz)
endfunction()
