# Flags that stop a broken or hostile input from becoming code that runs, and paths of this machine
# from standing in what is built. None of them is passed on to who links the library.

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

function(headlight_harden target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
  endif()
  if(HEADLIGHT_REPRODUCIBLE)
    target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  endif()
  # Under sanitizers nothing is added: they watch the same calls, and fortified ones escape them.
  if(NOT HEADLIGHT_HARDENING OR HEADLIGHT_SANITIZE)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-protector-strong -fstack-clash-protection)
  # _FORTIFY_SOURCE does nothing, and warns, without optimisation; C libraries that do not know
  # level 3 take it for 2. The assertions check indices of the standard library's containers.
  target_compile_options(
    ${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>"
                      -D_GLIBCXX_ASSERTIONS)
endfunction()
