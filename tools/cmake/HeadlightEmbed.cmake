# Embeds files into a program as bytes, with CMake alone. An array of characters has no length limit
# and needs no escapes.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)  # else policies are those of the oldest CMake
endif()

# headlight_embed(TARGET FOLDER HEADER FUNCTION FILE... [WITH FILE...]): adds a source to TARGET with
# the function declared in HEADER, in namespace headlight:
#   std::span<const EmbeddedFile> FUNCTION()   the FILEs of FOLDER by name
# Files are named by their path from FOLDER. A change of a file rebuilds only that source. A main.js
# and a style.css are embedded together with the files that they import, which follow WITH.
function(headlight_embed target folder header function)
  cmake_parse_arguments(PARSE_ARGV 4 embed "" "" WITH)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${function}.cpp)
  list(TRANSFORM embed_UNPARSED_ARGUMENTS PREPEND ${folder}/ OUTPUT_VARIABLE paths)
  list(TRANSFORM embed_WITH PREPEND ${folder}/)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFOLDER=${folder}" "-DHEADER=${header}" "-DFUNCTION=${function}"
            "-DFILES=${embed_UNPARSED_ARGUMENTS}" "-DSOURCE=${source}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${paths} ${embed_WITH} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${function}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  # With a target of its own the file does not wait for the libraries that TARGET is linked to: all
  # sources of TARGET would wait, too.
  add_custom_target(embed_${function} DEPENDS ${source})
  add_dependencies(${target} embed_${function})
endfunction()

# Appends a file to the global property JOINED after the files that it imports, each once. Styles
# import with @import '../style.css'; modules with import {name, ...} from './file.js'; A module
# becomes a function of its own, without unindented comments. All modules see what one exports, so no
# two may export the same name. Exported variables (export let) are outside of the functions, so that
# importers see every change.
function(headlight_join name)
  get_property(begun GLOBAL PROPERTY BEGUN)
  get_property(joined GLOBAL PROPERTY JOINED_NAMES)
  if(name IN_LIST joined)
    return()
  elseif(name IN_LIST begun)
    message(FATAL_ERROR "${name}: imports itself through other files")
  endif()
  set_property(GLOBAL APPEND PROPERTY BEGUN ${name})
  file(READ ${FOLDER}/${name} text)
  string(PREPEND text "\n")
  cmake_path(GET name PARENT_PATH here)
  set(form "\n(import {([^}]*)} from|@import) '([^']+)'")
  string(REGEX MATCHALL "${form}" imports "${text}")
  string(REGEX REPLACE "${form};" "" text "${text}")
  foreach(import IN LISTS imports)
    string(REGEX MATCH "${form}" import "${import}")
    cmake_path(SET path NORMALIZE "./${here}/${CMAKE_MATCH_3}")
    string(REGEX MATCHALL "[A-Za-z0-9_]+" wanted "${CMAKE_MATCH_2}")
    headlight_join(${path})
    get_property(exports GLOBAL PROPERTY ${path})
    list(REMOVE_ITEM wanted ${exports} "")
    if(wanted)
      message(FATAL_ERROR "${name}: imports ${wanted}, which ${path} does not export")
    endif()
  endforeach()
  if(name MATCHES "[.]js$")
    headlight_wrap(${name} "${text}")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY JOINED "${text}")
  set_property(GLOBAL APPEND PROPERTY JOINED_NAMES ${name})
endfunction()

# Wraps `text` of the caller, a module without imports, into a function that returns its exports.
function(headlight_wrap name text)
  set(form "\nexport (let|const|class|function|async function)[*]? ([A-Za-z0-9_]+)")
  string(REGEX MATCHALL "${form}" exports "${text}")
  set(variables ${exports})
  list(FILTER variables INCLUDE REGEX "^.export let")
  list(TRANSFORM exports REPLACE "${form}" "\\2")
  list(TRANSFORM variables REPLACE "${form}" "\\2")
  get_property(others GLOBAL PROPERTY EXPORTS)
  foreach(export IN LISTS exports)
    if(export IN_LIST others)
      message(FATAL_ERROR "${name}: another module exports ${export}, too")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY EXPORTS ${exports})
  set_property(GLOBAL PROPERTY ${name} ${exports})
  string(REGEX REPLACE "\nexport let " "\n" text "${text}")
  string(REGEX REPLACE "\nexport (const [A-Za-z]|class|function|async function)" "\n\\1" text "${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  if(text MATCHES "\n((im|ex)port [^\n]*)")
    message(FATAL_ERROR "${name}: expected import {name, ...} from './file.js'; or the export of one "
                        "function, class, const or let, got ${CMAKE_MATCH_1}")
  endif()
  list(REMOVE_ITEM exports ${variables} "")
  list(JOIN exports ", " exports)
  set(text "const {${exports}} = (() => {${text}return {${exports}};\n})();\n")
  foreach(variable IN LISTS variables)
    string(PREPEND text "let ${variable};\n")
  endforeach()
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Run as a script: writes the source.
if(CMAKE_SCRIPT_MODE_FILE)
  set(arrays "")
  set(rows "")
  set(number 0)
  foreach(name IN LISTS FILES)
    if(name MATCHES "(main[.]js|style[.]css)$")
      foreach(property BEGUN JOINED JOINED_NAMES EXPORTS)
        set_property(GLOBAL PROPERTY ${property} "")
      endforeach()
      headlight_join(${name})
      get_property(text GLOBAL PROPERTY JOINED)
      string(HEX "${text}" bytes)
    else()
      file(READ ${FOLDER}/${name} bytes HEX)
    endif()
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
