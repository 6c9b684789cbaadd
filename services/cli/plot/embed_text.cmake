# Writes a .cc file with a function of embedded_text.h: it returns the text of
# the inputs, one after the other.
#
#   cmake -P embed_text.cmake OUTPUT FUNCTION INPUT...

set(output "${CMAKE_ARGV3}")
set(function "${CMAKE_ARGV4}")
set(piece_bytes 8192)

set(pieces "")
set(input_number 5)
while(input_number LESS CMAKE_ARGC)
  set(input "${CMAKE_ARGV${input_number}}")
  file(SIZE "${input}" size)
  set(offset 0)
  while(offset LESS size)
    # Hexadecimal, so that neither CMake nor C++ finds a meaning in the bytes.
    file(READ "${input}" bytes OFFSET ${offset} LIMIT ${piece_bytes} HEX)
    string(LENGTH "${bytes}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    string(APPEND pieces "    {\"${bytes}\", ${length}},\n")
    math(EXPR offset "${offset} + ${length}")
  endwhile()
  math(EXPR input_number "${input_number} + 1")
endwhile()
if(pieces STREQUAL "")
  set(pieces "    {},\n")  # An array cannot be empty.
endif()

file(WRITE "${output}" "// Written by embed_text.cmake.
#include \"services/cli/plot/embedded_text.h\"

namespace paceline {

EmbeddedText ${function}() {
  static constexpr absl::string_view kPieces[] = {
${pieces}  };
  return kPieces;
}

}  // namespace paceline
")
