# Settings of the project's own targets, as functions on targets.

include(HeadlightHardening)

function(headlight_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           $<$<BOOL:${HEADLIGHT_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: -Wrestrict misfires on std::string concatenation.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_UNITY_BUILD)
    headlight_unite_folders(${target})
  endif()
  if(HEADLIGHT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HEADLIGHT_SANITIZE}
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${HEADLIGHT_SANITIZE})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/sanitizer_options.cpp)
    endif()
  endif()
  headlight_harden(${target})
endfunction()

# Compiles the files of a folder together, in half the time: they share their headers, and so they
# must not give one name to two things.
function(headlight_unite_folders target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REPLACE "/" "_" group ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  # GCC takes a file that is compiled together with others for a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

if(HEADLIGHT_PRECOMPILED AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/ccache.sh
                                  ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Precompiles the headers that follow ${target} for its sources, which include them all the same:
# HEADLIGHT_PRECOMPILED may be off.
function(headlight_precompile target)
  if(HEADLIGHT_PRECOMPILED)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # What ccache needs to see that a header was used.
    target_compile_options(${target} PRIVATE
                           $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                           "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # Bug 105651 has more names where GCC takes a precompiled std::string for the project's code.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()

# Compiles the sources that follow ${target} once per instruction set into it, each time with
# HEADLIGHT_VARIANT naming the namespace. Always optimised: without inlining, weak copies of inline
# functions could leak between instruction sets. On other CPUs than x86-64 all copies are plain.
function(headlight_add_variants target)
  headlight_add_variant(${target} baseline "" ${ARGN})
  target_compile_definitions(${target}_baseline PRIVATE HEADLIGHT_DOUBLE_LOOPS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(v2_flags -march=x86-64-v2)
    set(v3_flags -march=x86-64-v3)
    set(v4_flags -march=x86-64-v4 -mprefer-vector-width=512)
    set(vnni_flags ${v4_flags} -mavx512vnni)
  endif()
  foreach(variant v2 v3 v4)
    headlight_add_variant(${target} ${variant} "${${variant}_flags}" ${ARGN})
  endforeach()
  list(FILTER ARGN INCLUDE REGEX "/int8_panels.cpp$")
  headlight_add_variant(${target} vnni "${vnni_flags}" ${ARGN})
endfunction()

function(headlight_add_variant target variant flags)
  headlight_add_for_cpu(${target} ${variant} "${flags}" ${ARGN})
  target_compile_definitions(${target}_${variant} PRIVATE HEADLIGHT_VARIANT=${variant})
endfunction()

# Compiles the sources that follow ${target} for CPUs with instructions for bfloat16.
function(headlight_add_bfloat16 target)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    headlight_add_for_cpu(${target} bfloat16
                          "-march=x86-64-v4;-mavx512bf16;-mamx-tile;-mamx-bf16" ${ARGN})
    target_compile_definitions(${target} PRIVATE HEADLIGHT_BFLOAT16_KERNELS)
  endif()
endfunction()

function(headlight_add_for_cpu target suffix flags)
  set(name ${target}_${suffix})
  add_library(${name} OBJECT ${ARGN})
  headlight_defaults(${name})
  # Each file has vectors and tiles of its own by the same names.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math
                                         ${flags})
  if(HEADLIGHT_SANITIZE)
    # Clang warns of loops that it does not vectorise; those with checks inside cannot be.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
