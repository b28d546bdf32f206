# The bill of materials (sbom, on Debian), and cpack -G DEB: the runtime component as a Debian
# package that needs no compiler. tools/package.sh makes it.

# Libraries loaded on demand, which dpkg-shlibdeps and ldd cannot see: src/kernels/gemm/openblas.cpp,
# src/show/png and src/cli/chat/line_editor.
if(OpenBLAS_OpenMP_LIBRARY MATCHES "openblas-openmp")
  set(optional_packages optional:libopenblas0-openmp)
endif()
list(APPEND recommended_packages librsvg2-2)
if(libedit_name)
  list(APPEND recommended_packages libedit2)
endif()
list(TRANSFORM recommended_packages PREPEND optional: OUTPUT_VARIABLE optional_recommended)
list(APPEND optional_packages ${optional_recommended})

find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY AND NOT CMAKE_CROSSCOMPILING)  # ldd shows the libraries of this machine's programs only
  set(sbom ${CMAKE_CURRENT_BINARY_DIR}/headlight.cdx.json)
  add_custom_command(
    OUTPUT ${sbom}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/sbom.sh $<TARGET_FILE:headlight_cli> headlight
            ${PROJECT_VERSION} libboost-dev libcxxopts-dev libspdlog-dev libtomlplusplus-dev libutfcpp-dev
            nlohmann-json3-dev ${optional_packages} > ${sbom}
    DEPENDS headlight_cli ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/sbom.sh
    COMMENT "Listing what the program is made of"
    VERBATIM)
  add_custom_target(sbom ALL DEPENDS ${sbom})
  install(FILES ${sbom} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime OPTIONAL)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS  # regardless of the umask
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_CONTACT "The Headlight authors <headlight@localhost>")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
    "Trains GPT-style models from scratch on a CPU, generates text with them, and measures and draws
what every attention head does. Needs no Python, GPU or network.")
set(CPACK_COMPONENTS_ALL runtime)
if(TARGET headlight_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)  # a separate package: the program does not need MPI
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME headlight)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps does not see OpenBLAS, which the program loads at its first product.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libopenblas0-openmp)
list(JOIN recommended_packages ", " CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS headlight-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME headlight-mpi)
set(CPACK_DEBIAN_MPI_DESCRIPTION
    "Lets Headlight train in several processes, on one machine or many.
Started by mpirun or srun, headlight computes every update in all processes together.")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "headlight (= ${PROJECT_VERSION}), openmpi-bin")
include(CPack)
