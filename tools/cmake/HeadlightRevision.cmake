# Passes the version and, in a Git repository, the revision to src/base/build.cpp. CMake runs again
# after a checkout or commit of another revision.
find_package(Git QUIET)
set(headlight_revision "")
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE headlight_revision
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE headlight_head_log
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(headlight_head_log AND EXISTS "${headlight_head_log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${headlight_head_log}")
  endif()
endif()
set_source_files_properties(
  src/base/build.cpp
  PROPERTIES COMPILE_DEFINITIONS
             "HEADLIGHT_VERSION=\"${PROJECT_VERSION}\";HEADLIGHT_REVISION=\"${headlight_revision}\"")
