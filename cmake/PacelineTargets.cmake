# One function per kind of target. A CMakeLists.txt is then a list of facts.
#
# The presets compile the files of a target together (a unity build), because most
# of the time goes into the same headers. So the files of a target share their
# names, also those in anonymous namespaces.
option(PACELINE_UNITY "Compile the files of a target together" OFF)

# paceline_together(OUT NAME SRCS...): sets OUT to the files that stand for SRCS in
# the target NAME: in a unity build files that include sixteen of them each. What is
# generated stays alone, and so does what has SKIP_UNITY_BUILD_INCLUSION. CMake's own
# unity builds write whole paths, so that a compiler cache never knows a file of
# another clone; and CMake 3.25 has none for CUDA.
function(paceline_together out name)
  if(NOT PACELINE_UNITY)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(files "")
  set(included 0)
  foreach(source ${ARGN})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} generated)
    if(alone OR generated)
      list(APPEND files ${source})
      continue()
    endif()
    math(EXPR number "${included} / 16")
    cmake_path(GET path EXTENSION LAST_ONLY extension)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_together_${number}${extension})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND content_${number} "#include \"${path}\"\n")
    math(EXPR included "${included} + 1")
    if(NOT file IN_LIST files)
      list(APPEND files ${file})
    endif()
    set(file_${number} ${file})
  endforeach()
  # Each once, and only if it changes: what includes it is compiled then.
  set(number 0)
  while(DEFINED file_${number})
    file(CONFIGURE OUTPUT ${file_${number}} CONTENT "${content_${number}}" @ONLY)
    math(EXPR number "${number} + 1")
  endwhile()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# What a test takes of the machine, for CTest to run as many side by side as find
# room. CTest counts slots: a core has four, and deploy/jobs.sh has it fill those
# of all cores. With fewer (`ctest -j2`) a test takes all that there are.
#
#   COMPUTES  a core. The kind of every paceline_test that does not say another.
#   THREADS   a core and a half: its threads are there to meet each other.
#   SHARES    half a core: real processes that compute now and then.
#   WAITS     a quarter of a core: for leases, for processes, for time to pass.
#   ALONE     the machine: it measures, or takes all that it gets.
set(PACELINE_KINDS COMPUTES THREADS SHARES WAITS ALONE)
set(PACELINE_SLOTS_COMPUTES 4)
set(PACELINE_SLOTS_THREADS 6)
set(PACELINE_SLOTS_SHARES 2)
set(PACELINE_SLOTS_WAITS 1)
# Everything takes several times as long, and leases do not.
if(PACELINE_SANITIZE)
  set(PACELINE_SLOTS_SHARES 3)
  set(PACELINE_SLOTS_WAITS 2)
endif()

# paceline_takes(KIND TEST...): these tests are of that kind.
function(paceline_takes kind)
  if(kind STREQUAL "ALONE")
    set_tests_properties(${ARGN} PROPERTIES RUN_SERIAL ON)
  elseif(kind IN_LIST PACELINE_KINDS)
    set_tests_properties(${ARGN} PROPERTIES
      PROCESSORS ${PACELINE_SLOTS_${kind}})
  else()
    message(FATAL_ERROR "a test is one of ${PACELINE_KINDS}, not '${kind}'")
  endif()
endfunction()

# paceline_starts_first(TEST...): these last longest, and begin before all others.
# CTest knows that by itself only where it has run them before.
function(paceline_starts_first)
  set_tests_properties(${ARGN} PROPERTIES COST 1000)
endfunction()

# paceline_script(NAME FILE [KIND] [EACH] [LABELS...] [ARGUMENTS...]): a program in
# Python whose tests are unittest's, run as FILE ARGUMENTS... It is one CTest test,
# or with EACH as many as it has methods, so that they run side by side. 77 is the
# code of one that lacks something here.
function(paceline_script name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "${PACELINE_KINDS};EACH" ""
                        "LABELS;ARGUMENTS")
  set(tests ${name})
  if(arg_EACH)
    # Who adds a method need not add it here.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} methods REGEX "^    def test_")
    list(TRANSFORM methods REPLACE "^    def test_([a-z0-9_]+).*" "\\1")
    set(tests "")
    foreach(method ${methods})
      add_test(NAME ${name}_${method}
               COMMAND ${file} ${arg_ARGUMENTS} -k "*.test_${method}")
      list(APPEND tests ${name}_${method})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${file} ${arg_ARGUMENTS})
  endif()
  set_tests_properties(${tests} PROPERTIES
    TIMEOUT 1800 LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
  paceline_takes(COMPUTES ${tests})
  foreach(kind ${PACELINE_KINDS})
    if(arg_${kind})
      paceline_takes(${kind} ${tests})
    endif()
  endforeach()
endfunction()

# paceline_library(NAME SRCS... DEPS... [KERNELS | OPTIMIZED]): a static
# library, alias paceline::NAME. KERNELS marks numeric code, built with -O3 in
# every preset. OPTIMIZED marks decisions that tests try with thousands of seeds:
# they are optimized in `dev`, too. Under a sanitizer, which tries few seeds,
# optimizing would take longer than it saves.
function(paceline_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KERNELS;OPTIMIZED" "" "SRCS;DEPS")
  if(arg_SRCS)
    paceline_together(sources ${name} ${arg_SRCS})
    add_library(paceline_${name} STATIC ${sources})
    # What only tests need is built where one of them is.
    string(FIND ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests in_tests)
    if(in_tests EQUAL 0)
      set_target_properties(paceline_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_include_directories(paceline_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(paceline_${name} PUBLIC ${arg_DEPS}
                          PRIVATE paceline::warnings)
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
  paceline_together(sources ${name} ${arg_SRCS})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} paceline::release
                        paceline::warnings)
  paceline_precompiled(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name})
endfunction()

# paceline_test(NAME SRCS... DEPS... [LABELS...] [KIND] [SEEDS | PURE] [OPTIMIZED]):
# a GoogleTest program, one CTest test of one of PACELINE_KINDS. The time limit ends
# what hangs; it is far above what the slowest test takes on a slow machine under a
# sanitizer. SEEDS: the test draws what happens from many seeds. A sanitizer tries
# few of them, so that the test is among the UNSANITIZED ones as well. PURE: it
# computes for long what others bring under a sanitizer in short, runs of the pure
# core or a training say, so that it is among the UNSANITIZED ones alone. OPTIMIZED
# as for a library: what checks those seeds.
function(paceline_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg
                        "${PACELINE_KINDS};SEEDS;PURE;OPTIMIZED" ""
                        "SRCS;DEPS;LABELS")
  if(PACELINE_TESTS STREQUAL "UNSANITIZED" AND NOT (arg_SEEDS OR arg_PURE))
    return()
  endif()
  if(PACELINE_SANITIZE AND arg_PURE)
    return()
  endif()
  paceline_together(sources ${name} ${arg_SRCS})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock_main
                        paceline::test_paths paceline::tsan_mutex
                        paceline::warnings)
  if(arg_OPTIMIZED AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT PACELINE_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)
  else()
    paceline_precompiled(${name} TESTS)
  endif()
  add_test(NAME ${name} COMMAND ${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  paceline_takes(COMPUTES ${name})
  foreach(kind ${PACELINE_KINDS})
    if(arg_${kind})
      paceline_takes(${kind} ${name})
    endif()
  endforeach()
endfunction()

# paceline_benchmark(NAME SRCS... DEPS...): a Google Benchmark program in bin/;
# CTest runs it once with the least work, so that it cannot rot.
function(paceline_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  if(NOT PACELINE_BENCHMARKS)
    return()
  endif()
  paceline_together(sources ${name} ${arg_SRCS})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} benchmark::benchmark_main
                        paceline::release paceline::warnings)
  paceline_precompiled(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_test(NAME ${name}_smoke
           COMMAND ${name} --benchmark_min_time=0.001
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 900 LABELS bench)
  paceline_takes(COMPUTES ${name}_smoke)
endfunction()

# paceline_fuzzer(NAME SRCS... DEPS... [RUNS n]): a fuzz target (tests/fuzz).
# In the preset `fuzz` libFuzzer drives it, in bin/fuzz/; in `asan` it is a CTest
# test of its seeds and n mutations of them.
function(paceline_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RUNS" "SRCS;DEPS")
  if(NOT arg_RUNS)
    set(arg_RUNS 500)
  endif()
  paceline_together(sources ${name} ${arg_SRCS})
  add_executable(${name} ${sources})
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
  paceline_takes(COMPUTES ${name})
endfunction()
