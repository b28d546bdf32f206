# Finds Zstandard (Debian: libzstd-dev). Defines the target Zstandard::Zstandard.

find_library(Zstandard_LIBRARY zstd)
find_path(Zstandard_INCLUDE_DIR zstd.h)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zstandard REQUIRED_VARS Zstandard_LIBRARY Zstandard_INCLUDE_DIR)
mark_as_advanced(Zstandard_LIBRARY Zstandard_INCLUDE_DIR)

if(Zstandard_FOUND AND NOT TARGET Zstandard::Zstandard)
  add_library(Zstandard::Zstandard UNKNOWN IMPORTED)
  set_target_properties(
    Zstandard::Zstandard PROPERTIES IMPORTED_LOCATION ${Zstandard_LIBRARY}
                                    INTERFACE_INCLUDE_DIRECTORIES ${Zstandard_INCLUDE_DIR})
endif()
