// Current lists of some queries, copied from the device for whoever asked for them. Questions
// closes the gaps in its answers here, too.
#pragma once

#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// Moves lists that were given room for k and have fewer neighbours, and the states of some of
/// them, together, so that each begins where the one before ends.
void close_gaps(Answers& answers);

/// Appends them, waited for. Throws std::runtime_error if objects are ahead of lists that carry
/// states, DeviceError and std::bad_alloc.
void copy_lists(std::span<const Slot> queries, DeviceLists& lists, bool objects_are_ahead,
                const ObjectsView& objects, DeviceMemory& memory, const CudaStream& stream,
                Answers& answers);

}  // namespace starling::gpu
