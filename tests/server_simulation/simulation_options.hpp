// SPDX-License-Identifier: Apache-2.0
// The seed and the options of a simulation. They determine every event of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace starling::simulation {

/// What goes wrong. The seed draws the faults that happen in a simulation.
enum class Fault : std::uint8_t {
  loss,            ///< frames and messages are lost
  delay,           ///< frames take long
  reordering,      ///< frames of a connection overtake each other
  duplicates,      ///< frames come twice
  cuts,            ///< connections are cut
  stalls,          ///< the server's loop or a thread stands still
  crashes,         ///< the server loses power: what was not synced is lost in part, or torn
  stops,           ///< the server is stopped and started again
  clock_steps,     ///< the wall clock is set
  failing_engine,  ///< ticks fail
  full_disk,       ///< the disk has no room for new files for a while
  slow_disk,       ///< a sync takes long
  memory,          ///< an allocation of the loop, a thread, a commit or a start fails
  put_back,        ///< the log is copied, and the copy is put back before a later start
};

inline constexpr std::array fault_names{
    std::string_view("loss"),        std::string_view("delay"),
    std::string_view("reordering"),  std::string_view("duplicates"),
    std::string_view("cuts"),        std::string_view("stalls"),
    std::string_view("crashes"),     std::string_view("stops"),
    std::string_view("clock-steps"), std::string_view("failing-engine"),
    std::string_view("full-disk"),   std::string_view("slow-disk"),
    std::string_view("memory"),      std::string_view("put-back")};

inline std::optional<Fault> fault_from_string(std::string_view text) {
  for (std::size_t i = 0; i < fault_names.size(); ++i)
    if (text == fault_names[i]) return static_cast<Fault>(i);
  return std::nullopt;
}

/// One call of the log to its disk that fails, counted from 1.
struct DiskFault {
  enum class Kind : std::uint8_t {
    power,    ///< power is lost in any call that changes the disk
    writing,  ///< a write and all later writes fail
    syncing,  ///< a sync and all later syncs fail
    room,     ///< the disk has no room for one new file
  };
  Kind kind = Kind::power;
  std::uint64_t call = 1;
};

inline constexpr std::array disk_fault_names{std::string_view("power"), std::string_view("writing"),
                                             std::string_view("syncing"), std::string_view("room")};

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::set<Fault> without{};    ///< faults that do not happen
  std::uint64_t requests = 60;  ///< requests that change something, of all clients together
  std::uint64_t clients = 3;
  std::optional<DiskFault> disk_fault{};  ///< what fails in the first life of the server
  /// An allocation of the server that fails, counted from 1 over all its lives. 0: none.
  std::uint64_t failing_allocation = 0;
  /// Whether there are keys, and others besides the clients: honest ones, who ask, and greedy ones.
  bool has_others = true;
  bool has_snapshots = true;  ///< whether snapshots of the log are made, if the seed says so
};

}  // namespace starling::simulation
