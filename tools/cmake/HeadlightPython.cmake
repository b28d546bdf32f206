# The Python package: the extension headlight._headlight, its stubs and the program. pyproject.toml
# adds the Python sources.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
find_package(nanobind CONFIG REQUIRED)
file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS src/python/*.cpp)
nanobind_add_module(headlight_python NB_STATIC STABLE_ABI NB_SUPPRESS_WARNINGS ${python_sources})
headlight_defaults(headlight_python)
# The build folder holds the whole package, so that stubgen can import it.
set(package ${CMAKE_CURRENT_BINARY_DIR}/python_package)
set_target_properties(headlight_python PROPERTIES OUTPUT_NAME _headlight
                                                  LIBRARY_OUTPUT_DIRECTORY ${package}/headlight)
add_custom_command(
  TARGET headlight_python POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_CURRENT_SOURCE_DIR}/src/python/headlight
          ${package}/headlight)
target_include_directories(headlight_python PRIVATE src)
target_link_libraries(headlight_python PRIVATE headlight_insight)
target_compile_definitions(headlight_python PRIVATE HEADLIGHT_VERSION="${PROJECT_VERSION}")
set(stub_names __init__.pyi nn.pyi ops.pyi optim.pyi plot.pyi)
set(stubs ${CMAKE_CURRENT_BINARY_DIR}/python_stubs)
list(TRANSFORM stub_names PREPEND ${stubs}/_headlight/ OUTPUT_VARIABLE stub_files)
nanobind_add_stub(headlight_python_stubs MODULE headlight._headlight RECURSIVE OUTPUT_PATH ${stubs}
                  OUTPUT ${stub_files}
                  PYTHON_PATH ${package} DEPENDS headlight_python)
# Other builds of the project do not need them (tools/test_python.sh --built).
set_target_properties(headlight_python headlight_python_stubs PROPERTIES EXCLUDE_FROM_ALL ON)
if(SKBUILD)
  install(TARGETS headlight_python LIBRARY DESTINATION headlight COMPONENT python)
  install(FILES ${stub_files} DESTINATION headlight/_headlight COMPONENT python)
  # nanobind is part of the extension.
  file(GLOB nanobind_license ${nanobind_DIR}/../../nanobind-*.dist-info/licenses/LICENSE)
  install(FILES ${nanobind_license} RENAME nanobind.txt DESTINATION headlight/licenses
          COMPONENT python OPTIONAL)
  # In the package, so that it finds the libraries that auditwheel adds to the wheel.
  install(TARGETS headlight_cli RUNTIME DESTINATION headlight/bin COMPONENT python)
endif()
