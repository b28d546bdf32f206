# The WebAssembly build (preset wasm, with Emscripten): the program inside the pages that
# `headlight page` writes. It needs neither threads nor BLAS, sockets or archives; the files of
# src/page stand in for them.

set(CMAKE_DISABLE_FIND_PACKAGE_MPI TRUE)
set(CMAKE_DISABLE_FIND_PACKAGE_PkgConfig TRUE)
set(HEADLIGHT_PRECOMPILED OFF)
# wasm-ld drops what is not reachable, so only the sources that do not compile are left out.
set(not_in_wasm
    kernels/threads/openmp kernels/machine/processors kernels/threads/thread_pool kernels/gemm/openblas  # threads, OpenBLAS
    storage/compressed/decompression storage/compressed/zip_.* formats/arrays/npz interpret/lens/tuned_lens  # archives
    formats/nanogpt.* formats/model_directory formats/stored_model formats/tokenizer_directory
    generate/grammar.* generate/json_schema.* formats/chat_template/tool_parameter serve/completions/call_grammar
    formats/adapter/.* datasets/nanogpt_vocabulary runs/conversations/.*  # for other runs than a page's
    runs/preference_reference runs/seen_text formats/chat_template/known_templates formats/chat_template/chat_model
    show/png/.* serve/http/.* serve/api serve/file_page/.* serve/server serve/run_feed serve/metrics serve/page_files)  # HTTP
list(JOIN not_in_wasm "|" not_in_wasm)
add_compile_options(-msimd128 -fwasm-exceptions -Wno-c++11-narrowing
                    "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/../wasm/include/missing_algorithms.h"
                    "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/../wasm/include/missing_charconv.h"
                    "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/../wasm/include/missing_rename.h")
include_directories(BEFORE SYSTEM ${CMAKE_CURRENT_LIST_DIR}/../wasm/include)

# Libraries of headers alone, from the system's folder: the folder itself would bring the headers of
# another C library.
set(headers ${CMAKE_CURRENT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(name nlohmann toml++ xxhash.h utf8 utf8.h)
  find_path(HEADLIGHT_HEADERS_${name} ${name} NO_CMAKE_FIND_ROOT_PATH PATHS /usr/include REQUIRED)
  file(CREATE_LINK ${HEADLIGHT_HEADERS_${name}}/${name} ${headers}/${name} SYMBOLIC)
endforeach()
foreach(library nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus xxHash::xxHash OpenMP::OpenMP_CXX
                OpenBLAS_OpenMP::OpenBLAS_OpenMP libzip::zip ZLIB::ZLIB Zstandard::Zstandard)
  add_library(${library} INTERFACE IMPORTED)
endforeach()
include_directories(SYSTEM ${headers})
add_compile_definitions(XXH_INLINE_ALL)

# Removes the sources that the WebAssembly build leaves out from a list.
function(headlight_filter_for_wasm sources)
  list(FILTER ${sources} EXCLUDE REGEX "/src/(${not_in_wasm})[.]cpp$")
  set(${sources} ${${sources}} PARENT_SCOPE)
endfunction()

# Adds headlight.js and headlight.wasm.gz, which `headlight page` puts into its pages.
function(headlight_add_page_engine)
  # Only kernels and tensors compute for long; the rest is smaller without unrolled loops. Emscripten
  # switches inlining off if the flags contain -Os or -Oz, even before -O3. Kernels then called a
  # function for each vector and had a sixth of their speed.
  foreach(library headlight_formats headlight_formats_codecs headlight_insight headlight_serve)
    target_compile_options(${library} PRIVATE -Oz)
  endforeach()
  set(folders base storage autograd ops nn optim distributed tokenizers datasets train generate)
  list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.cpp")
  file(GLOB_RECURSE small_sources CONFIGURE_DEPENDS ${folders})
  set_source_files_properties(${small_sources} PROPERTIES COMPILE_OPTIONS -Oz)
  file(GLOB kernel_sources CONFIGURE_DEPENDS src/kernels/variants/*.cpp src/kernels/panels/*.cpp)
  set_source_files_properties(${kernel_sources} PROPERTIES COMPILE_OPTIONS "-O3;-finline-functions")
  file(GLOB sources CONFIGURE_DEPENDS src/page/*.cpp)
  add_executable(headlight_page_engine ${sources})
  headlight_defaults(headlight_page_engine)
  set_target_properties(headlight_page_engine PROPERTIES OUTPUT_NAME headlight)
  target_include_directories(headlight_page_engine PRIVATE src)
  target_link_libraries(headlight_page_engine PRIVATE headlight_serve)
  # Newer versions have 64 KB by default, and another name for it.
  if(EMSCRIPTEN_VERSION VERSION_GREATER_EQUAL 3.1.27)
    set(stack -sSTACK_SIZE=5MB)
  else()
    set(stack -sTOTAL_STACK=5MB)
  endif()
  target_link_options(
    headlight_page_engine PRIVATE
    ${stack} -fwasm-exceptions -Oz --no-entry -sMODULARIZE -sEXPORT_NAME=headlightEngine -sENVIRONMENT=worker,node
    -sDYNAMIC_EXECUTION=0 -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sINITIAL_MEMORY=32MB
    -sMALLOC=emmalloc -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS,ccall)
  add_custom_command(
    TARGET headlight_page_engine POST_BUILD
    COMMAND gzip -9nkf headlight.wasm
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    VERBATIM)
  # `headlight bench --signature` under Node: node build/wasm/headlight_signature.js
  file(GLOB stand_ins CONFIGURE_DEPENDS src/page/*_stub.cpp)
  add_executable(headlight_signature EXCLUDE_FROM_ALL src/page/signature/main.cpp ${stand_ins}
                                     src/cli/bench/signature.cpp src/cli/bench/random_data.cpp)
  headlight_defaults(headlight_signature)
  target_include_directories(headlight_signature PRIVATE src)
  target_link_libraries(headlight_signature PRIVATE headlight_formats)
  target_link_options(headlight_signature PRIVATE -fwasm-exceptions -sENVIRONMENT=node -sSINGLE_FILE -sALLOW_MEMORY_GROWTH
                      -sEXIT_RUNTIME)
endfunction()
