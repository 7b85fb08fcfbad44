// Current lists of some queries, from the device to whoever asked for them.
#pragma once

#include <span>

#include "gpu/device/memory.hpp"
#include "gpu/points/lists/device_lists.hpp"
#include "gpu/points/objects/objects_launch.hpp"
#include "knn/engine/engine.hpp"

namespace starling::gpu {

/// Appends them, waited for. Throws std::runtime_error if objects are ahead of lists that carry
/// states, DeviceError and std::bad_alloc.
void copy_lists(std::span<const Slot> queries, DeviceLists& lists, bool objects_are_ahead,
                const ObjectsView& objects, DeviceMemory& memory, const Stream& stream,
                Answers& answers);

}  // namespace starling::gpu
