# Whether there is a CUDA backend, PACELINE_HAS_CUDA, and for which GPUs.

set(PACELINE_HAS_CUDA OFF)
if(NOT PACELINE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PACELINE_CUDA is AUTO, ON or OFF, not ${PACELINE_CUDA}")
endif()
if(PACELINE_CUDA STREQUAL "OFF")
  return()
endif()

find_program(PACELINE_NVCC nvcc HINTS /usr/local/cuda/bin)
if(PACELINE_NVCC)
  set(CMAKE_CUDA_COMPILER ${PACELINE_NVCC} CACHE FILEPATH "The CUDA compiler")
elseif(PACELINE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "PACELINE_CUDA is ON, and there is no nvcc in the PATH "
                      "or /usr/local/cuda/bin: install the CUDA toolkit")
else()
  message(STATUS "No nvcc: no CUDA backend")
  return()
endif()

# A developer's build has code for one generation, and a release for all that
# are in use; the newest also as PTX, for what comes after it.
if(NOT PACELINE_CUDA_ARCHITECTURES)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(architectures
        "75-real;80-real;86-real;89-real;90-real;100-real;120")
  else()
    set(architectures "90")
  endif()
endif()
set(PACELINE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING
    "GPU generations to build for, as CMAKE_CUDA_ARCHITECTURES takes them")
set(CMAKE_CUDA_ARCHITECTURES ${PACELINE_CUDA_ARCHITECTURES})
if(PACELINE_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PACELINE_CCACHE})
endif()
# The runtime is linked as any other library, CUDA::cudart_static.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
enable_language(CUDA)
# CMake 3.25 does not know how CUDA is told of C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
# /usr/include is nvcc's own already: named again it would come too early.
list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES
     ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
# So that kernels can call what is constexpr, as the shapes' sizes.
string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr")
# CMake 3.25.1 takes it for granted, and CUDA 13 has it no more. Nothing here
# links it.
if(NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit REQUIRED)
set(PACELINE_HAS_CUDA ON)
# Where programs find the backend's module.
set(CMAKE_BUILD_RPATH ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/paceline")
