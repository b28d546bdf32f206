# Toolchain of the preset aarch64: compiles for ARM on another machine, and runs tests under qemu-user.
# CONTRIBUTING.md shows how to make the folder HEADLIGHT_SYSROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(HEADLIGHT_SYSROOT "$ENV{HEADLIGHT_SYSROOT}" CACHE PATH "Folder with the ARM packages")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEADLIGHT_SYSROOT)
if(NOT IS_DIRECTORY "${HEADLIGHT_SYSROOT}/usr")
  message(FATAL_ERROR "HEADLIGHT_SYSROOT: expected a folder with the ARM packages, "
                      "got '${HEADLIGHT_SYSROOT}'; see CONTRIBUTING.md")
endif()
set(CMAKE_SYSROOT ${HEADLIGHT_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu max -L ${HEADLIGHT_SYSROOT})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config finds only the ARM packages.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HEADLIGHT_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${HEADLIGHT_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HEADLIGHT_SYSROOT}/usr/share/pkgconfig)
