# SPDX-License-Identifier: BSD-3-Clause
# The device API over the model, all functions times all circumstances (device_matrix.cpp).
if(NOT GDAKIT_SANITIZE MATCHES "thread")
  add_executable(device_matrix device_matrix.cpp matrix/cell.cpp matrix/rig.c matrix/rows_put.cpp matrix/rows_get.cpp
    matrix/rows_counter.cpp matrix/rows_wqe.cpp matrix/rows_queue.cpp harness.c harness_srq.c harness_ud.c)
  target_compile_definitions(device_matrix PRIVATE HX_WITHOUT_CRITERION)
  target_link_libraries(device_matrix PRIVATE gdakit_build gdakit_simt nm_world)
  set(part 1)
  if(GDAKIT_SANITIZE) # a cell takes many times as long
    set(part 8)
  endif()
  add_test(NAME device_matrix COMMAND device_matrix sample ${part})
  set_tests_properties(device_matrix PROPERTIES TIMEOUT 600 LABELS "core")
endif()
