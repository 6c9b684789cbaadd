# Everything we link that is not ours. All of it is a Debian package.

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
# Its headers alone: Asio and Beast.
find_package(Boost REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
# For images: without LAPACK and Fortran's runtime, which nothing calls, it takes
# 25 MB instead of 40.
option(PACELINE_STATIC_OPENBLAS "Link OpenBLAS into the programs" OFF)
if(PACELINE_STATIC_OPENBLAS)
  find_library(PACELINE_OPENBLAS_ARCHIVE libopenblas.a
    HINTS ${openblas_LIBRARY_DIRS} REQUIRED)
  set_target_properties(PkgConfig::openblas PROPERTIES
    INTERFACE_LINK_LIBRARIES "${PACELINE_OPENBLAS_ARCHIVE};m;pthread")
endif()
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
# It has known CURLOPT_PROTOCOLS_STR since then.
find_package(CURL 7.85)
if(NOT CURL_FOUND)
  message(FATAL_ERROR "libcurl 7.85 or newer is missing, which checkpoints in "
                      "S3-compatible storage need: install libcurl4-openssl-dev, "
                      "or run deploy/install_packages.sh")
endif()

if(PACELINE_GRPC)
  find_package(Protobuf REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(yaml-cpp REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
  pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
  find_package(gRPC CONFIG REQUIRED)
endif()

if(PACELINE_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PACELINE_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
