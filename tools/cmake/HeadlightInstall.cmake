# cmake --install gives the program, the library, its headers and find_package(headlight).

include(CMakePackageConfigHelpers)

install(TARGETS headlight EXPORT headlight_targets)
install(TARGETS headlight_cli)
install(DIRECTORY include/headlight TYPE INCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headlight)
install(EXPORT headlight_targets NAMESPACE headlight:: DESTINATION ${package_dir})
configure_package_config_file(tools/cmake/headlightConfig.cmake.in headlightConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headlightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headlightConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/headlightConfigVersion.cmake
              tools/cmake/FindOpenBLAS_OpenMP.cmake tools/cmake/FindxxHash.cmake
        DESTINATION ${package_dir})
