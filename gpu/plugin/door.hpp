// SPDX-License-Identifier: Apache-2.0
// Declares what libstarling-cuda.so exports. That library is the engine for NVIDIA GPUs, and is
// loaded at run time. Its door is a table of its functions: door.cpp defines the door, and
// loader.cpp finds it. CUDA-free.
//
// C++ objects and exceptions pass through the door, so the library and its caller must come from
// the same build. The loader compares build ids before anything calls the library.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/gpu/backend.hpp"
#include "starling/gpu/device/devices.hpp"
#include "starling/gpu/vectors/selection_timing.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Pointers to functions of the library. Each function does the same as the function of the same
/// name in namespace starling::gpu, and throws the same exceptions. The objects that the functions
/// return run code of the library, so the library stays loaded until the process ends.
struct CudaDoor {
  std::vector<DeviceInfo> (*find_devices)(std::string& why_none);
  std::unique_ptr<Engine> (*make_engine)(const EngineOptions& options);
  std::unique_ptr<VectorSearcher> (*make_vector_searcher)(std::span<const int> devices);
  void (*copy_from_device)(void* to, const void* from, std::size_t bytes, int device);
  std::string (*nccl_version)(std::string& why_none);
  double (*measure_read_gb_per_s)(int device);
  std::vector<double> (*time_selection_ms)(const SelectionTiming& timing);
};

/// The symbol of the library's build id: a zero-terminated array of characters with C linkage,
/// which any build can read.
inline constexpr const char* build_id_symbol = "starling_cuda_build_id";
/// The symbol of the door: a CudaDoor with C linkage.
inline constexpr const char* door_symbol = "starling_cuda_door";

}  // namespace starling::gpu
