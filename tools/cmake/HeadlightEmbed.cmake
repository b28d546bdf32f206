# Embeds files into a program as bytes, with CMake alone. An array of characters has no length limit
# and needs no escapes.

# headlight_embed(TARGET FOLDER HEADER FUNCTION FILE...): adds a source to TARGET with the function
# declared in HEADER, in namespace headlight:
#   std::span<const EmbeddedFile> FUNCTION()   the FILEs of FOLDER by name
# Files are named by their path from FOLDER. A change of a file rebuilds only that source.
function(headlight_embed target folder header function)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${function}.cpp)
  list(TRANSFORM ARGN PREPEND ${folder}/ OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFOLDER=${folder}" "-DHEADER=${header}" "-DFUNCTION=${function}"
            "-DFILES=${ARGN}" "-DSOURCE=${source}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${paths} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${function}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  # With a target of its own the file does not wait for the libraries that TARGET is linked to: all
  # sources of TARGET would wait, too.
  add_custom_target(embed_${function} DEPENDS ${source})
  add_dependencies(${target} embed_${function})
endfunction()

# Run as a script: writes the source.
if(CMAKE_SCRIPT_MODE_FILE)
  set(arrays "")
  set(rows "")
  set(number 0)
  foreach(name IN LISTS FILES)
    file(READ ${FOLDER}/${name} bytes HEX)
    # Lines of 25 bytes are easier on compilers and readers than one long line.
    string(REGEX REPLACE "(..................................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND arrays "constexpr char kFile${number}[] = {\n${bytes}};\n\n")
    string(APPEND rows "    {\"${name}\", {kFile${number}, sizeof kFile${number}}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(WRITE ${SOURCE} "#include \"${HEADER}\"

namespace headlight {
namespace {

${arrays}constexpr EmbeddedFile kFiles[] = {
${rows}};

}  // namespace

std::span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }

}  // namespace headlight
")
endif()
