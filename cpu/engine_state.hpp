// What CpuEngine holds to EngineState and back, and rows that it could not apply yet.
#pragma once

#include <span>

#include "cpu/object_snapshot.hpp"
#include "cpu/tick_lists.hpp"
#include "knn/engine.hpp"

namespace starling::cpu {

/// All of the state but its tick and time.
EngineState export_parts(const ObjectSnapshot& objects, std::span<const QueryRow> queries,
                         const TickLists& lists);

/// The lists as they were, under a plan that the next tick replaces.
void import_lists(const EngineState& state, TickLists& lists);

/// Adds newer rows to those kept, and clears them: of a slot the newest stays, so that what is kept
/// is bounded however many ticks fail. The process ends if there is no room even for them: staged
/// rows were acknowledged and are not lost in silence.
void keep_rows(Staging& newer, Staging& kept) noexcept;

}  // namespace starling::cpu
