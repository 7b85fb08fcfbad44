// SPDX-License-Identifier: Apache-2.0
// The door of libstarling-cuda.so, the engine for NVIDIA GPUs as a library that is loaded at run
// time: what the library exports. loader.hpp opens it, door.cpp is inside the library. CUDA-free.
//
// C++ objects and exceptions pass through the door. So both sides must be of the same build: the
// loader compares build ids before it calls anything.
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

/// The functions of the library. Each does what the function of the same name in namespace
/// starling::gpu does, and throws the same exceptions. Objects that they make hold code of the
/// library, which therefore stays loaded until the process ends.
struct CudaDoor {
  std::vector<DeviceInfo> (*find_devices)(std::string& why_none);
  std::unique_ptr<Engine> (*make_engine)(const EngineOptions& options);
  std::unique_ptr<VectorSearcher> (*make_vector_searcher)(std::span<const int> devices);
  void (*copy_from_device)(void* to, const void* from, std::size_t bytes, int device);
  std::string (*nccl_version)(std::string& why_none);
  double (*measure_read_gb_per_s)(int device);
  std::vector<double> (*time_selection_ms)(const SelectionTiming& timing);
};

/// The library exports two symbols with C linkage. The first is an array of characters, so that any
/// build can read it: the build id, as build_id() returns it, with a zero at its end.
inline constexpr const char* build_id_symbol = "starling_cuda_build_id";
/// The second is the door itself, a CudaDoor.
inline constexpr const char* door_symbol = "starling_cuda_door";

}  // namespace starling::gpu
