// What GpuEngine holds to EngineState and back.
#pragma once

#include <span>

#include "gpu/device/memory.hpp"
#include "gpu/points/lists/device_lists.hpp"
#include "gpu/points/objects/device_objects.hpp"
#include "knn/engine/engine.hpp"

namespace starling::gpu {

/// All of the state but its tick and time; waits for the stream.
EngineState export_parts(DeviceObjects& objects, std::span<const QueryRow> queries,
                         DeviceLists& lists, const Stream& stream);

/// The lists as they were, under a plan that the next tick replaces; waits for the stream.
void import_lists(const EngineState& state, DeviceLists& lists, DeviceMemory& memory,
                  const Stream& stream);

}  // namespace starling::gpu
