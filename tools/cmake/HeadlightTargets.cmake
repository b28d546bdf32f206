# Functions for the settings of the project's own targets.

include(HeadlightHardening)

function(headlight_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(NOT EMSCRIPTEN)  # would only add indirections there
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow
                                           $<$<BOOL:${HEADLIGHT_WERROR}>:-Werror>)
  if(NOT EMSCRIPTEN)  # sizes and Index have the same width, so a conversion is a mistake
    target_compile_options(${target} PRIVATE -Wconversion)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: -Wrestrict misfires on std::string concatenation.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_UNITY_BUILD)
    headlight_unite_folders(${target})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC collects garbage less often: 10 to 20 % less time for large units, with up to 1 GB each.
      target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=393216)
    endif()
  endif()
  if(HEADLIGHT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HEADLIGHT_SANITIZE}
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # With sanitizers GCC 13 and 14 report members of std::regex as uninitialized.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${HEADLIGHT_SANITIZE})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/sanitizer_options.cpp)
    endif()
  endif()
  headlight_harden(${target})
endfunction()

# -O3 is for what computes for long. Elsewhere it would only double the time of compiling.
function(headlight_optimise_lightly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Gives the sources of a library whose paths match a pattern compile options of their own: those of
# the target TARGET_SUFFIX.
function(headlight_split target suffix pattern)
  set(part ${target}_${suffix})
  get_target_property(sources ${target} SOURCES)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(part_sources ${sources})
  list(FILTER part_sources INCLUDE REGEX "${pattern}")
  list(FILTER sources EXCLUDE REGEX "${pattern}")
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
  if(CMAKE_UNITY_BUILD)
    headlight_unite_folders(${target})
  endif()
  headlight_add_part(${target} ${part} ${part_sources})
  target_link_libraries(${part} PRIVATE ${libraries})
endfunction()

# Adds sources to a library as a target of their own.
function(headlight_add_part target part)
  headlight_add_objects(${part} ${ARGN})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
endfunction()

function(headlight_add_objects name)
  add_library(${name} OBJECT ${ARGN})
  headlight_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
endfunction()

# Compiles the files of folders together, in less than half the time, because they share headers and
# instances of templates: each folder with the first ones that leave room for it, up to 210 kB of
# sources. So names must be unique within a library.
function(headlight_unite_folders target)
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REPLACE "/" "_" folder ${folder})
    list(APPEND folders ${folder})
    list(APPEND ${folder}_sources ${source})
    set(bytes 0)
    if(EXISTS ${path})  # and not written by the build
      file(SIZE ${path} bytes)
    endif()
    math(EXPR ${folder}_bytes "${${folder}_bytes} + ${bytes}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(groups)  # by their first folder
  foreach(folder ${folders})
    set(group ${folder})
    foreach(open_group ${groups})
      math(EXPR bytes "${${open_group}_group_bytes} + ${${folder}_bytes}")
      if(bytes LESS_EQUAL 210000)
        set(group ${open_group})
        break()
      endif()
    endforeach()
    math(EXPR ${group}_group_bytes "${${group}_group_bytes} + ${${folder}_bytes}")
    if(group STREQUAL folder)
      list(APPEND groups ${group})
    endif()
    set_source_files_properties(${${folder}_sources} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  # GCC treats the files of a unity build as headers.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

if(HEADLIGHT_PRECOMPILED AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/ccache.sh
                                  ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Precompiles headers once for several libraries, whose macros of the command line the headers do
# not use. LIBRARIES: those that add flags. Sources still include the headers, since
# HEADLIGHT_PRECOMPILED may be off.
function(headlight_share_precompiled name)
  cmake_parse_arguments(shared "" "" "TARGETS;LIBRARIES;HEADERS" ${ARGN})
  if(HEADLIGHT_PRECOMPILED)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    headlight_add_objects(${name} ${source})
    target_link_libraries(${name} PRIVATE ${shared_LIBRARIES})
    headlight_precompile(${name} ${shared_HEADERS})
    foreach(target ${shared_TARGETS})
      target_precompile_headers(${target} REUSE_FROM ${name})
      headlight_allow_precompiled(${target})
    endforeach()
  endif()
endfunction()

# Precompiles headers for one target.
function(headlight_precompile target)
  if(HEADLIGHT_PRECOMPILED)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    headlight_allow_precompiled(${target})
  endif()
endfunction()

function(headlight_allow_precompiled target)
  # Flags that let ccache see the use of a precompiled header.
  target_compile_options(${target} PRIVATE
                         $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                         "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Bug 105651 causes more warnings with a precompiled std::string.
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
  endif()
endfunction()

# Compiles the given sources once per instruction set; HEADLIGHT_VARIANT is the namespace. Always
# optimised: without inlining, weak copies of inline functions could leak between instruction sets.
# On CPUs other than x86-64, one plain copy serves for all (kernels/variants/tables.h). The variant
# `dot` is only for products of integers.
function(headlight_add_variants target)
  headlight_add_variant(${target} baseline "" ${ARGN})
  target_compile_definitions(${target}_baseline PRIVATE HEADLIGHT_DOUBLE_LOOPS)
  set(v3_flags -march=x86-64-v3)
  set(v4_flags -march=x86-64-v4 -mprefer-vector-width=512)
  set(dot_flags ${v4_flags} -mavx512vnni)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(dot_flags -march=armv8.2-a+dotprod)
  endif()
  headlight_variants(variants)
  set(compiled)
  foreach(variant ${variants})
    set(sources ${ARGN})
    if(variant STREQUAL dot)
      list(FILTER sources INCLUDE REGEX "/integer_panels.cpp$")
    endif()
    headlight_add_variant(${target} ${variant} "${${variant}_flags}" ${sources})
    string(TOUPPER HEADLIGHT_KERNELS_${variant} definition)
    target_compile_definitions(${target}_${variant} PRIVATE ${definition})
    list(APPEND compiled ${definition})
  endforeach()
  set_source_files_properties(src/kernels/chosen_tables.cpp PROPERTIES COMPILE_DEFINITIONS
                              "${compiled}")
endfunction()

# Lists the variants beside the baseline: all, or those of the machine that compiles.
function(headlight_variants result)
  set(variants)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(variants dot)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(variants v3 v4 dot)
    if(NOT HEADLIGHT_ALL_CPUS AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
      file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
      if(flags MATCHES " avx512vl")
        set(variants v4 dot)
      else()
        set(variants v3)
      endif()
    endif()
  endif()
  set(${result} ${variants} PARENT_SCOPE)
endfunction()

function(headlight_add_variant target variant flags)
  headlight_add_for_cpu(${target} ${variant} "${flags}" ${ARGN})
  target_compile_definitions(${target}_${variant} PRIVATE HEADLIGHT_VARIANT=${variant})
endfunction()

# Compiles the given sources for CPUs with bfloat16 instructions, which need AVX-512.
function(headlight_add_bfloat16 target)
  headlight_variants(variants)
  if(v4 IN_LIST variants)
    headlight_add_for_cpu(${target} bfloat16
                          "-march=x86-64-v4;-mavx512bf16;-mamx-tile;-mamx-bf16" ${ARGN})
    target_compile_definitions(${target} PRIVATE HEADLIGHT_BFLOAT16_KERNELS)
  endif()
endfunction()

function(headlight_add_for_cpu target suffix flags)
  set(name ${target}_${suffix})
  headlight_add_part(${target} ${name} ${ARGN})
  # Each file defines its own vectors and tiles under the same names.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_compile_options(${name} PRIVATE -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math
                                         ${flags})
  if(HEADLIGHT_SANITIZE)
    # Clang warns about loops that it cannot vectorise, such as loops with sanitizer checks.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  endif()
endfunction()
