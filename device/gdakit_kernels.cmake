# SPDX-License-Identifier: BSD-3-Clause
# gdakit_kernels(TARGET source.cu ...): compile kernel sources for the CPU and, where nvcc is found,
# for the GPU, and link what they need. The host picks one with gdakit_rt_open (device/gdakit_rt.h).
#
# nvcc is called directly, not as a CMake language: a machine without it must still configure.
# Optional: GDAKIT_NVCC (path), GDAKIT_CUDA_ARCH (list, default 80 90 100; PTX of the last one too).
find_program(GDAKIT_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
set(GDAKIT_CUDA_ARCH "80;90;100" CACHE STRING "GPU architectures for kernels")
option(GDAKIT_CUDA "compile kernels for the GPU as well, where nvcc is found" ON)

set(GDAKIT_CUDART "")
if(GDAKIT_CUDA AND GDAKIT_NVCC)
  get_filename_component(nvcc_real ${GDAKIT_NVCC} REALPATH)
  get_filename_component(nvcc_root ${nvcc_real}/../.. ABSOLUTE)
  find_library(GDAKIT_CUDART_LIB cudart_static HINTS ${nvcc_root}/lib64 ${nvcc_root}/lib
    ${nvcc_root}/targets/x86_64-linux/lib)
  if(GDAKIT_CUDART_LIB)
    set(GDAKIT_CUDART ${GDAKIT_CUDART_LIB} ${CMAKE_DL_LIBS} rt)
  endif()
endif()

set(GDAKIT_NVCC_FLAGS -std=c++17 -O2 -lineinfo -Xcompiler -fPIC,-Wall
  -I${CMAKE_CURRENT_LIST_DIR} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}
  -I${PROJECT_SOURCE_DIR}/emu/simt -I${PROJECT_SOURCE_DIR}/sim_tests)
foreach(arch ${GDAKIT_CUDA_ARCH})
  list(APPEND GDAKIT_NVCC_FLAGS -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
list(GET GDAKIT_CUDA_ARCH -1 last_arch)
list(APPEND GDAKIT_NVCC_FLAGS -gencode arch=compute_${last_arch},code=compute_${last_arch})
set(GDAKIT_DEVICE_DIR ${CMAKE_CURRENT_LIST_DIR})
# remember for callers in other folders
foreach(var GDAKIT_CUDART GDAKIT_NVCC_FLAGS GDAKIT_DEVICE_DIR)
  set_property(GLOBAL PROPERTY ${var} "${${var}}")
endforeach()

function(gdakit_nvcc_object target source out)
  get_property(flags GLOBAL PROPERTY GDAKIT_NVCC_FLAGS)
  get_filename_component(name ${source} NAME)
  get_filename_component(path ${source} ABSOLUTE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.${name}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${GDAKIT_NVCC} ${flags} -I${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${object}.d -c ${path}
      -o ${object}
    DEPENDS ${path} DEPFILE ${object}.d COMMENT "nvcc ${name}" VERBATIM)
  set(${out} ${object} PARENT_SCOPE)
endfunction()

function(gdakit_kernels target)
  get_property(cudart GLOBAL PROPERTY GDAKIT_CUDART)
  get_property(device_dir GLOBAL PROPERTY GDAKIT_DEVICE_DIR)
  # one source, two compilers: the CPU's copy goes through a file that includes it
  foreach(source ${ARGN})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${target}.${name}.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${path}\"\n")
    target_sources(${target} PRIVATE ${wrapper})
    if(cudart)
      gdakit_nvcc_object(${target} ${source} object)
      target_sources(${target} PRIVATE ${object})
      set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    endif()
  endforeach()
  if(cudart)
    gdakit_nvcc_object(${target} ${device_dir}/gdakit_rt_cuda.cu object)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    target_link_libraries(${target} PRIVATE ${cudart})
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE gdakit_simt)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
