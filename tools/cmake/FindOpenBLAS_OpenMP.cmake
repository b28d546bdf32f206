# Finds OpenBLAS, preferably the build with OpenMP threads (Debian: libopenblas-openmp-dev).
#
# Debian installs several builds, and a plain -lopenblas may link one and load another. So the rpath
# of the program holds the folder of the library that was found.
#
# Defines the target OpenBLAS_OpenMP::OpenBLAS_OpenMP. It links no library: the program loads the
# shared library HEADLIGHT_OPENBLAS at the first product (src/kernels/gemm/openblas.cpp).

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
  add_library(OpenBLAS_OpenMP::OpenBLAS_OpenMP INTERFACE IMPORTED)
  get_filename_component(openblas_folder ${OpenBLAS_OpenMP_LIBRARY} DIRECTORY)
  # The program does not run in the folder that a cross-compiler takes for "/".
  string(REPLACE "${CMAKE_SYSROOT}/usr/" "/usr/" openblas_folder ${openblas_folder})
  get_filename_component(openblas_name ${OpenBLAS_OpenMP_LIBRARY} NAME)
  # The -dev package adds a link without a version; the library's own name ends with .0.
  if(EXISTS ${OpenBLAS_OpenMP_LIBRARY}.0)
    string(APPEND openblas_name .0)
  endif()
  set_target_properties(
    OpenBLAS_OpenMP::OpenBLAS_OpenMP
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${OpenBLAS_OpenMP_INCLUDE_DIR}
               INTERFACE_COMPILE_DEFINITIONS HEADLIGHT_OPENBLAS="${openblas_name}"
               INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}"
               INTERFACE_LINK_OPTIONS "LINKER:-rpath,${openblas_folder}")
endif()
