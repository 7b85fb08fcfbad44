# SPDX-License-Identifier: Apache-2.0
# nvcc and CUDA's runtime, which gpu/ alone uses. A build takes one architecture; a release
# takes those of the preset `cuda`; the kernels reduce across lanes in hardware, from 80 on.

set(CMAKE_CUDA_COMPILER ${STARLING_NVCC} CACHE FILEPATH "nvcc")
set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "What GPUs the kernels are compiled for")
enable_language(CUDA)
# CMake 3.25 does not know yet how nvcc is asked for C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # gpu/ names the static one
find_package(CUDAToolkit REQUIRED)
# Some instructions of Hopper (90) are only in code that no other GPU runs (90a); 90-virtual serves
# the GPUs after it.
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
  set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
endif()
list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90(-real)?$" "90a-real;90-virtual")
# Several GPUs merge lists over NCCL, which the toolkit may come without.
find_path(STARLING_NCCL_HEADER nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(STARLING_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT STARLING_NCCL_HEADER)
  message(STATUS "There is no NCCL: GPUs pass lists to each other by copies; libnccl-dev has it")
endif()
if(STARLING_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${STARLING_CCACHE})
endif()
