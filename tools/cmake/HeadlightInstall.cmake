# Components of cmake --install: runtime (program, presets, toy corpus, documents, help), mpi (files for
# several processes) and dev (library, headers and find_package(headlight)).

include(CMakePackageConfigHelpers)

install(TARGETS headlight_cli COMPONENT runtime)
if(TARGET headlight_mpi)
  install(TARGETS headlight_mpi LIBRARY DESTINATION ${plug_in_folder} COMPONENT mpi)
endif()
# The WebAssembly program of `headlight page`. It is the same for every machine.
set(HEADLIGHT_PAGE_ENGINE ${CMAKE_CURRENT_SOURCE_DIR}/build/wasm
    CACHE PATH "Folder with headlight.js and headlight.wasm.gz (preset wasm), which packages carry")
if(NOT EXISTS ${HEADLIGHT_PAGE_ENGINE}/headlight.wasm.gz)
  set(demo_page docs/demo.html)  # holds them
  message(STATUS "No WebAssembly program in ${HEADLIGHT_PAGE_ENGINE}: what is installed or packaged now has "
                 "that of the last release (docs/demo.html). To build it, in five minutes on two cores: "
                 "cmake --preset wasm && cmake --build --preset wasm")
endif()
# Installs presets, texts and the WebAssembly program into share/headlight below a folder.
function(headlight_install_data folder component)
  set(share ${folder}/headlight)
  install(DIRECTORY configs DESTINATION ${share} COMPONENT ${component})
  install(DIRECTORY data/ DESTINATION ${share}/data COMPONENT ${component})
  install(FILES ${HEADLIGHT_PAGE_ENGINE}/headlight.js ${HEADLIGHT_PAGE_ENGINE}/headlight.wasm.gz
          DESTINATION ${share}/page COMPONENT ${component} OPTIONAL)
  install(FILES ${demo_page} DESTINATION ${share}/page COMPONENT ${component})
endfunction()
headlight_install_data(${CMAKE_INSTALL_DATADIR} runtime)
if(SKBUILD)
  headlight_install_data(headlight/share python)  # where the program of the Python package finds them
endif()
# Pages keep their folders, so that their relative links hold.
file(GLOB_RECURSE pages RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md docs/*.html docs/*.ipynb docs/*.svg docs/*.png
     docs/examples/*.cpp docs/examples/*.txt
     src/*.md src/*.svg tests/*.md tests/consumer/*.cpp tools/*.md tools/*.svg)
foreach(page ${pages} README.md CHANGELOG.md CONTRIBUTING.md LICENSE data/README.md)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT runtime)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)

# Manual pages and shell completions, which the program writes.
set(help_files ${CMAKE_CURRENT_BINARY_DIR}/help)
set(write_help_files ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/help_files.sh)
add_custom_command(
  OUTPUT ${help_files}/headlight.bash
  COMMAND ${write_help_files} $<TARGET_FILE:headlight_cli> ${help_files}
  DEPENDS headlight_cli ${write_help_files}
  COMMENT "Writing manual pages and shell completions"
  VERBATIM)
add_custom_target(help_files ALL DEPENDS ${help_files}/headlight.bash)
install(DIRECTORY ${help_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
install(FILES ${help_files}/headlight.bash RENAME headlight
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
install(FILES ${help_files}/headlight.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
# Debian's zsh reads completions of packages from another folder than those of local programs.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder vendor-completions)
else()
  set(zsh_folder site-functions)
endif()
install(FILES ${help_files}/_headlight
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder} COMPONENT runtime)

install(TARGETS headlight_core headlight_formats headlight_insight headlight_serve EXPORT headlight_targets COMPONENT dev)
install(DIRECTORY include/headlight TYPE INCLUDE COMPONENT dev)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headlight)
install(EXPORT headlight_targets NAMESPACE headlight:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(tools/cmake/headlightConfig.cmake.in headlightConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headlightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headlightConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/headlightConfigVersion.cmake
              tools/cmake/FindOpenBLAS_OpenMP.cmake tools/cmake/FindxxHash.cmake
              tools/cmake/FindZstandard.cmake
        DESTINATION ${package_dir} COMPONENT dev)
