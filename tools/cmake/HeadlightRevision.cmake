# Tells src/base/build.cpp the version and, when this is a Git repository, the revision. CMake runs
# again when another revision is checked out or committed.
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
