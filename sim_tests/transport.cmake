# SPDX-License-Identifier: BSD-3-Clause
# The transport: everything on a fabric of simulated NICs.
if(CRITERION_FOUND)
  add_library(rc_harness STATIC harness.c harness_srq.c harness_ud.c)
  target_link_libraries(rc_harness PUBLIC gdakit_build nm_world PkgConfig::CRITERION)
  foreach(test doorbell_rings many_objects rc_atomic rc_counters rc_error rc_held rc_loss rc_memic rc_observer rc_packet rc_read rc_rights rc_send rc_silent rc_sqd rc_srq rc_train rc_umr rc_write uc_messages ud_datagrams xrc)
    gdakit_test(NAME ${test} SOURCES ${test}.c LIBS rc_harness LABELS transport)
  endforeach()
  gdakit_test(NAME check_rules SOURCES check_rules.c LIBS rc_harness nm_check LABELS transport)
  gdakit_test(NAME wqe_decode SOURCES wqe_decode.c LIBS nicmodel LABELS transport)
endif()

foreach(target fuzz_packet fuzz_wqe)
  gdakit_fuzz(NAME ${target} SOURCES ${target}.c harness.c harness_ud.c harness_srq.c LIBS nm_world)
  if(TARGET ${target})
    target_compile_definitions(${target} PRIVATE HX_WITHOUT_CRITERION)
  endif()
endforeach()
