// What GpuEngine holds to EngineState and back.
#pragma once

#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// All of the state but its tick and time; waits for the CUDA stream.
EngineState export_parts(DeviceObjects& objects, std::span<const QueryRow> queries,
                         DeviceLists& lists, const CudaStream& stream);

/// The lists as they were, under a plan that the next tick replaces; waits for the CUDA stream.
void import_lists(const EngineState& state, DeviceLists& lists, DeviceMemory& memory,
                  const CudaStream& stream);

}  // namespace starling::gpu
