// SPDX-License-Identifier: Apache-2.0
// Finds libstarling-cuda.so at run time and opens its door. The program and libstarling.so call
// load_cuda_library, so both also run where the library, CUDA or a driver is missing. Builds
// without nvcc have the loader, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/gpu/plugin/door.hpp"

namespace starling::gpu {

/// Returns the id of the build that this code belongs to, such as "0.2.0+5f3a9c2e". After the
/// version stands a hash of the compiler and of all files that both sides of the door are compiled
/// from.
std::string_view build_id();

struct CudaLibrary {
  const CudaDoor* door = nullptr;  ///< null if the library is missing or cannot be used
  std::string path;                ///< the library's file; empty if no file was found
  /// Why `door` is null, and what to install, without a full stop: "the CUDA engine is not
  /// installed; install the package starling-cuda of version 0.2.0". Empty if `door` is not null.
  std::string why_none;
  std::vector<std::string> looked_for;  ///< candidate paths; the first that exists becomes `path`
};

/// Appends `way_out`, which says what helps without a GPU, to the reason `why_none`: "there is no
/// NVIDIA GPU; use --engine cpu". If the reason already says what helps, appends ", or " and
/// `way_out`.
std::string with_way_out(std::string why_none, std::string_view way_out);

/// Loads the library, once in a process; further calls return the same door. If the environment
/// variable STARLING_CUDA_LIBRARY is set and not empty, it is the path of the library. Otherwise
/// the library is looked for in three folders, relative to the calling program or shared library:
/// starling/, ../lib/starling/, and starling/ in the installation's folder of libraries. The first
/// file that exists is taken. Throws only std::bad_alloc and std::filesystem::filesystem_error. Any
/// thread may call it.
CudaLibrary load_cuda_library();

}  // namespace starling::gpu
