# SPDX-License-Identifier: BSD-3-Clause
# What every part shares: warnings, sanitizers, and how a unit test is declared.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Fuzz targets need clang and are built by ci/fuzz alone.
option(GDAKIT_FUZZ "build the libFuzzer targets (clang)" OFF)

add_library(gdakit_build INTERFACE)
target_compile_options(gdakit_build INTERFACE -Wall -Wextra -Werror -Wvla -Wpointer-arith
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
target_compile_definitions(gdakit_build INTERFACE _GNU_SOURCE)
target_include_directories(gdakit_build INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
# libFuzzer sees only instrumented code: coverage goes into every library.
if(GDAKIT_FUZZ)
  target_compile_options(gdakit_build INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(GDAKIT_SANITIZE)
  target_compile_options(gdakit_build INTERFACE -fsanitize=${GDAKIT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(gdakit_build INTERFACE -fsanitize=${GDAKIT_SANITIZE})
endif()

pkg_check_modules(CRITERION IMPORTED_TARGET criterion)
# Criterion does not run under ThreadSanitizer; sim_tests/plain stands in for it.
if(GDAKIT_SANITIZE MATCHES "thread")
  set(CRITERION_FOUND TRUE)
  # Fences are legal but unseen by it; what they order is ordered by an atomic access beside them as well.
  target_compile_options(gdakit_build INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
  add_library(gdakit_plain_tests INTERFACE)
  target_include_directories(gdakit_plain_tests INTERFACE ${PROJECT_SOURCE_DIR}/sim_tests/plain)
  set(GDAKIT_TEST_FRAMEWORK gdakit_plain_tests)
else()
  set(GDAKIT_TEST_FRAMEWORK PkgConfig::CRITERION)
endif()

# gdakit_test(NAME name SOURCES ... [LIBS ...] [LABELS ...] [TIMEOUT s]): one Criterion program,
# one ctest entry of the same name. Without Criterion (a GPU machine) the tests are left out; under
# ThreadSanitizer those are built that have threads (LABELS threads).
function(gdakit_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT CRITERION_FOUND OR (GDAKIT_SANITIZE MATCHES "thread" AND NOT "threads" IN_LIST T_LABELS))
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE gdakit_build ${GDAKIT_TEST_FRAMEWORK} ${T_LIBS})
  add_test(NAME ${T_NAME} COMMAND ${T_NAME})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "core;${T_LABELS}")
endfunction()

add_custom_target(fuzz_targets)

# gdakit_fuzz(NAME fuzz_x SOURCES ... LIBS ...)
function(gdakit_fuzz)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS" ${ARGN})
  if(NOT GDAKIT_FUZZ)
    return()
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE gdakit_build ${T_LIBS})
  target_compile_options(${T_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_options(${T_NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${T_NAME})
endfunction()
