# SPDX-License-Identifier: Apache-2.0
# Finds nvcc and CUDA's runtime, which only gpu/ uses. A build compiles for one architecture unless told
# otherwise, and a release for those of the preset `cuda`. The least is 80, because the kernels reduce across
# lanes in hardware.

set(CMAKE_CUDA_COMPILER ${STARLING_NVCC} CACHE FILEPATH "nvcc")
set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "What GPUs the kernels are compiled for")
enable_language(CUDA)
# CMake 3.25 lacks nvcc's option for C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # gpu/ links the static runtime
find_package(CUDAToolkit REQUIRED)
# Some instructions of Hopper (90) need code for 90a, which only Hopper runs. Later GPUs run the code of
# 90-virtual.
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
  set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
endif()
list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90(-real)?$" "90a-real;90-virtual")
# Several GPUs merge lists over NCCL, which some CUDA toolkits lack.
find_path(STARLING_NCCL_HEADER nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(STARLING_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT STARLING_NCCL_HEADER)
  message(STATUS "There is no NCCL: GPUs pass lists to each other by copies; libnccl-dev has it")
endif()
if(STARLING_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${STARLING_CCACHE})
endif()
