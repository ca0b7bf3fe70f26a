# zero_compiler_library(NAME SOURCES a.cpp ... LINK x ... DEPENDS tablegen-targets ...): a static library that sees MLIR.
function(zero_compiler_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(NOT arg_SOURCES)  # a room that holds headers only
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_LINK} MLIR LLVM)
    return()
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_precompile_headers(${name} REUSE_FROM zero_pch)
  target_link_libraries(${name} PUBLIC ${arg_LINK} MLIR LLVM)
  add_dependencies(${name} zero_tablegen ${arg_DEPENDS})
endfunction()

# zero_runtime_library(NAME SOURCES a.cpp ... LINK x ...): a static library that must not see MLIR or LLVM.
function(zero_runtime_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_LINK})
    return()
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# zero_tool(NAME SOURCES a.cpp LINK x ... [COMPILER]): an executable under build/bin.
function(zero_tool name)
  cmake_parse_arguments(arg "COMPILER" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  if(arg_COMPILER)
    target_precompile_headers(${name} REUSE_FROM zero_pch)
    target_compile_options(${name} PRIVATE -fPIC)  # as the precompiled header was built
    add_dependencies(${name} zero_tablegen)
    target_link_libraries(${name} PRIVATE ${arg_LINK} MLIR LLVM)
  else()
    target_link_libraries(${name} PRIVATE ${arg_LINK})
  endif()
endfunction()

# zero_unittest(NAME SOURCES a.cpp LINK x ... [COMPILER]): a GoogleTest binary that ctest runs.
function(zero_unittest name)
  cmake_parse_arguments(arg "COMPILER" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  set_property(GLOBAL APPEND PROPERTY ZERO_UNITTESTS ${name})
  if(arg_COMPILER)
    target_precompile_headers(${name} REUSE_FROM zero_pch)
    target_compile_options(${name} PRIVATE -fPIC)  # as the precompiled header was built
    add_dependencies(${name} zero_tablegen)
    target_link_libraries(${name} PRIVATE ${arg_LINK} gtest gtest_main MLIR LLVM)
  else()
    target_link_libraries(${name} PRIVATE ${arg_LINK} gtest gtest_main)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  zero_unittest_results(${name})
endfunction()

# zero_unittest_results(TEST): its cases go to test/results/TEST.xml, where tools/dev/test counts them.
function(zero_unittest_results test)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test/results/${test}.xml)
endfunction()
