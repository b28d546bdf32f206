# Settings of the project's own targets, as functions on targets.

function(headlight_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           $<$<BOOL:${HEADLIGHT_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: -Wrestrict misfires on std::string concatenation.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(HEADLIGHT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HEADLIGHT_SANITIZE}
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${HEADLIGHT_SANITIZE})
  endif()
endfunction()

# Compiles src/kernels/variants/loops.cpp once per instruction set into ${target}. Always optimised:
# without inlining, weak copies of inline functions could leak between instruction sets.
function(headlight_add_loop_variants target)
  headlight_add_loop_variant(${target} baseline "")
  target_compile_definitions(${target}_loops_baseline PRIVATE HEADLIGHT_DOUBLE_LOOPS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_definitions(${target} PRIVATE HEADLIGHT_X86_VARIANTS)
    headlight_add_loop_variant(${target} v3 "-march=x86-64-v3")
    headlight_add_loop_variant(${target} v4 "-march=x86-64-v4;-mprefer-vector-width=512")
  endif()
endfunction()

function(headlight_add_loop_variant target variant flags)
  set(name ${target}_loops_${variant})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/variants/*.cpp)
  add_library(${name} OBJECT ${sources})
  headlight_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE HEADLIGHT_VARIANT=${variant})
  target_compile_options(${name} PRIVATE -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math
                                         ${flags})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
