# Components of cmake --install: runtime (program, presets, toy corpus, documents), mpi (files for
# several processes) and dev (library, headers and find_package(headlight)).

include(CMakePackageConfigHelpers)

install(TARGETS headlight_cli COMPONENT runtime)
if(TARGET headlight_mpi)
  install(TARGETS headlight_mpi LIBRARY DESTINATION ${plug_in_folder} COMPONENT mpi)
endif()
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight COMPONENT runtime)
install(FILES data/README.md data/toy.txt data/toy.annotations.jsonl
        DESTINATION ${CMAKE_INSTALL_DATADIR}/headlight/data COMPONENT runtime)
# Pages keep their folders, so that their relative links hold.
file(GLOB_RECURSE pages RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md docs/*.svg
     src/*.md src/*.png src/*.svg tests/*.md tests/consumer/*.cpp tools/*.md tools/*.svg)
foreach(page ${pages} README.md CHANGELOG.md CONTRIBUTING.md LICENSE data/README.md)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT runtime)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)
install(FILES tools/package/headlight.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES tools/package/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME headlight COMPONENT runtime)

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
