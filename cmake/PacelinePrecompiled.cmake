# Headers of others that most files include, parsed once for all targets: that
# saves 2 to 3 s for each file. For clang alone: GCC 12 crashes on some of our
# files when they begin with such a header. `tests/run.sh files` and every build
# with GCC find a file that uses a name without including its header.

# paceline_precompiled(TARGET [TESTS]): compiles TARGET with them, and with
# googletest's.
function(paceline_precompiled target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  set(headers paceline_precompiled_headers)
  if(arg_TESTS)
    set(headers paceline_precompiled_test_headers)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  return()
endif()

# The same time stamp in every build, for the compiler cache.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")

set(PRECOMPILED_HEADERS
    <algorithm> <atomic> <chrono> <cmath> <cstdint> <deque> <filesystem> <fstream>
    <functional> <map> <memory> <optional> <set> <string> <thread> <utility>
    <variant> <vector>
    <absl/container/btree_map.h> <absl/container/btree_set.h>
    <absl/container/flat_hash_map.h> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/numbers.h> <absl/strings/str_cat.h>
    <absl/strings/str_format.h> <absl/strings/str_join.h>
    <absl/strings/str_split.h> <absl/synchronization/mutex.h>
    <absl/synchronization/notification.h> <absl/time/clock.h>
    <absl/time/time.h> <nlohmann/json.hpp>)
set(PRECOMPILED_LIBRARIES absl::btree absl::flat_hash_map absl::statusor
                          absl::str_format absl::synchronization absl::time
                          nlohmann_json::nlohmann_json)
if(PACELINE_GRPC)
  list(APPEND PRECOMPILED_HEADERS
       <CLI/CLI.hpp> <google/protobuf/descriptor.h> <google/protobuf/map.h>
       <google/protobuf/message.h> <grpcpp/grpcpp.h> <prometheus/registry.h>)
  list(APPEND PRECOMPILED_LIBRARIES CLI11::CLI11 gRPC::grpc++
                                    prometheus-cpp::core protobuf::libprotobuf)
endif()

file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cc "")
add_library(paceline_precompiled_headers OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
target_link_libraries(paceline_precompiled_headers PRIVATE ${PRECOMPILED_LIBRARIES})
target_precompile_headers(paceline_precompiled_headers PRIVATE ${PRECOMPILED_HEADERS})
if(PACELINE_TESTS)
  add_library(paceline_precompiled_test_headers OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(paceline_precompiled_test_headers
    PRIVATE ${PRECOMPILED_LIBRARIES} GTest::gmock GTest::gtest)
  target_precompile_headers(paceline_precompiled_test_headers
    PRIVATE ${PRECOMPILED_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endif()
