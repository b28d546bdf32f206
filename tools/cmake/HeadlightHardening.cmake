# Flags that keep hostile input from executing code, and keep paths of the build machine out of
# binaries. Users of the library do not inherit them.

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

function(headlight_harden target)
  if(EMSCRIPTEN)  # WebAssembly has a sandbox of its own
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
  endif()
  if(HEADLIGHT_REPRODUCIBLE)
    target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  endif()
  # Sanitizers check the same calls, and do not see the fortified variants.
  if(NOT HEADLIGHT_HARDENING OR HEADLIGHT_SANITIZE)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection)
  # _FORTIFY_SOURCE needs optimisation, and warns without it; older C libraries treat level 3 as 2.
  # The assertions check indices of the standard library's containers.
  target_compile_options(
    ${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>"
                      -D_GLIBCXX_ASSERTIONS)
endfunction()
