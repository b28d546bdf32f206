# The Python package: the extension headlight._headlight, its stubs and the program. pyproject.toml
# adds the Python sources.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
find_package(nanobind CONFIG REQUIRED)
file(GLOB python_sources CONFIGURE_DEPENDS src/python/*.cpp)
nanobind_add_module(headlight_python NB_STATIC STABLE_ABI NB_SUPPRESS_WARNINGS ${python_sources})
headlight_defaults(headlight_python)
set_target_properties(headlight_python PROPERTIES OUTPUT_NAME _headlight)
target_include_directories(headlight_python PRIVATE src)
target_link_libraries(headlight_python PRIVATE headlight_insight)
nanobind_add_stub(headlight_python_stubs MODULE _headlight OUTPUT _headlight.pyi
                  PYTHON_PATH $<TARGET_FILE_DIR:headlight_python> DEPENDS headlight_python)
install(TARGETS headlight_python LIBRARY DESTINATION headlight COMPONENT python)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_headlight.pyi DESTINATION headlight COMPONENT python)
if(SKBUILD)
  install(TARGETS headlight_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()
