# Language level, warnings, sanitizers and compiler cache for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# For everybody: the files of a target are compiled together.
add_compile_definitions(PACELINE_VERSION="${PROJECT_VERSION}")

find_program(PACELINE_CCACHE ccache)
if(PACELINE_CCACHE)
  # With CCACHE_DEPEND it goes by the dependencies that the compiler names, and
  # an empty cache costs no preprocessing. The sloppiness lets it cache files
  # that use a precompiled header. It makes paths within the base relative, so that
  # what one clone has compiled by GCC another need not; a precompiled header of
  # clang's names its folder.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${PACELINE_CCACHE})
  cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR}
             OUTPUT_VARIABLE to_source)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.>"
    "$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${to_source}/=>")
endif()

add_library(paceline_warnings INTERFACE)
add_library(paceline::warnings ALIAS paceline_warnings)
target_compile_options(paceline_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wnon-virtual-dtor;-Woverloaded-virtual>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall>")
# In a unity build clang warns that one file shadows a name that only another
# file has. GCC does not; it warns of all types in anonymous namespaces instead.
# A field that a designated initializer leaves out has its default, which GCC
# warns of and clang does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(paceline_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wshadow;-Wno-subobject-linkage;-Wno-missing-field-initializers>")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(paceline_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
  add_link_options(-fuse-ld=lld)
endif()
# For every target, because clang refuses a precompiled header that was compiled
# with another setting.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-pthread>)
# The update and conversion loops are written for the vectorizer.
set(PACELINE_ARCH "x86-64-v3" CACHE STRING
    "-march of the numeric kernels; empty for the compiler's default")

if(PACELINE_SANITIZE)
  add_compile_options(-fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PACELINE_SANITIZE})
  # Undefined behaviour is not looked for within templates of others: that took a
  # third of the time to compile. AddressSanitizer looks at them.
  if(PACELINE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/unchecked_headers.txt)
  endif()
endif()
# Their instrumentation hides from GCC 12 which member of a variant is set. What
# is really not initialized the other presets see.
if(PACELINE_SANITIZE MATCHES "thread|address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(paceline_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
