// SPDX-License-Identifier: Apache-2.0
// Finds libstarling-cuda.so at run time and opens its door. The program and libstarling.so call it,
// so both also run where the library, CUDA or a driver is missing. It is built without nvcc too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/gpu/plugin/door.hpp"

namespace starling::gpu {

/// Returns the build that this code belongs to, such as "0.2.0+5f3a9c2e": the version, and a hash
/// of what both sides of the door are compiled from and of the compiler.
std::string_view build_id();

struct CudaLibrary {
  const CudaDoor* door = nullptr;  ///< null if the library is missing or cannot be used
  std::string path;                ///< the library's file; empty if no file was found
  /// Why `door` is null, and what to install, without a full stop: "the CUDA engine is not
  /// installed; install the package starling-cuda of version 0.2.0". Empty if `door` is not null.
  std::string why_none;
  std::vector<std::string> looked_for;  ///< the paths that were tried, in order
};

/// Appends what helps without a GPU to a reason such as `why_none`, which may say already what
/// helps: "there is no NVIDIA GPU; use --engine cpu".
std::string with_way_out(std::string why_none, std::string_view way_out);

/// Loads the library, once in a process; further calls return the same door. If the environment
/// variable STARLING_CUDA_LIBRARY is set and not empty, it is the path of the library. Otherwise
/// the library is looked for beside the calling program or shared library: in starling/ (of
/// libstarling.so), ../lib/starling/ and the installation's folder of libraries. The first file
/// that exists is taken. Throws only std::bad_alloc and std::filesystem::filesystem_error. Any
/// thread may call it.
CudaLibrary load_cuda_library();

}  // namespace starling::gpu
