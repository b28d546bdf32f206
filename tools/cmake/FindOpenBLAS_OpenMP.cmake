# Finds OpenBLAS, the build that threads with OpenMP when there is one (Debian: libopenblas-openmp-dev).
#
# Debian installs the builds side by side, and a plain -lopenblas may link one and load another; so
# the folder of the library that was found is written into the program (rpath).
#
# Defines the target OpenBLAS_OpenMP::OpenBLAS_OpenMP.

find_library(
  OpenBLAS_OpenMP_LIBRARY openblas
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
  NO_DEFAULT_PATH)
find_library(OpenBLAS_OpenMP_LIBRARY NAMES openblaso openblas)
find_path(
  OpenBLAS_OpenMP_INCLUDE_DIR cblas.h
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
  PATH_SUFFIXES openblas
  NO_DEFAULT_PATH)
find_path(OpenBLAS_OpenMP_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS_OpenMP REQUIRED_VARS OpenBLAS_OpenMP_LIBRARY
                                                                OpenBLAS_OpenMP_INCLUDE_DIR)
mark_as_advanced(OpenBLAS_OpenMP_LIBRARY OpenBLAS_OpenMP_INCLUDE_DIR)

if(OpenBLAS_OpenMP_FOUND AND NOT TARGET OpenBLAS_OpenMP::OpenBLAS_OpenMP)
  add_library(OpenBLAS_OpenMP::OpenBLAS_OpenMP UNKNOWN IMPORTED)
  get_filename_component(openblas_folder ${OpenBLAS_OpenMP_LIBRARY} DIRECTORY)
  set_target_properties(
    OpenBLAS_OpenMP::OpenBLAS_OpenMP
    PROPERTIES IMPORTED_LOCATION ${OpenBLAS_OpenMP_LIBRARY}
               INTERFACE_INCLUDE_DIRECTORIES ${OpenBLAS_OpenMP_INCLUDE_DIR}
               INTERFACE_LINK_OPTIONS "LINKER:-rpath,${openblas_folder}")
endif()
