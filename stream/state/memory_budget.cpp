// SPDX-License-Identifier: Apache-2.0
// Reads limits and use from the system: see memory_budget.hpp.
#include "starling/stream/state/memory_budget.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace starling::stream {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t read_every_us = 10'000;
constexpr double below_again = 0.98;
constexpr double copying_part = 0.97;  // part of the limits that may be in use while an array grows

/// Returns the number in the file; no_limit if there is no file or its text is "max".
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = no_limit;
  if (file >> bytes) return bytes;
  return no_limit;
}

/// Returns the least limit of the group `path` and of all groups above it. In a container, `path`
/// may be the group's path outside the container. The group is then at `mount` itself.
std::uint64_t least_of_groups(const std::string& mount, std::string path,
                              std::initializer_list<const char*> files) {
  std::uint64_t least = no_limit;
  for (;; path.resize(path.rfind('/'))) {
    for (const char* name : files) least = std::min(least, limit_in(mount + path + "/" + name));
    if (path.empty() || path.rfind('/') == std::string::npos) return least;
  }
}

std::uint64_t least_of_groups(const std::string& root) {
  std::uint64_t least = no_limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // A line is hierarchy:controllers:path. Version 2 is hierarchy 0 and names no controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).append(1, ',');
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    const std::string mounts = root + "/sys/fs/cgroup";
    if (controllers == ",,") {
      for (const char* mount : {"", "/unified"})
        least =
            std::min(least, least_of_groups(mounts + mount, path, {"memory.max", "memory.high"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_of_groups(mounts + "/memory", path, {"memory.limit_in_bytes"}));
    }
  }
  return least;
}

std::uint64_t part_of(std::uint64_t bytes) {
  if (bytes == no_limit) return no_limit;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * MemoryBudget::part);
}

}  // namespace

MemoryUse memory_use() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident_pages = 0;
  file >> pages >> resident_pages;
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {.resident = resident_pages * page_bytes, .address_space = pages * page_bytes};
}

MemoryLimits memory_limits(const std::string& root) {
  MemoryLimits limits;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0)
    limits.resident = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  limits.resident = std::min(limits.resident, least_of_groups(root));
  rlimit of_addresses{};
  if (getrlimit(RLIMIT_AS, &of_addresses) == 0 && of_addresses.rlim_cur != RLIM_INFINITY)
    limits.address_space = of_addresses.rlim_cur;
  return limits;
}

MemoryBudget::MemoryBudget(Options options)
    : bytes_max_(options.bytes_max > 0 ? options.bytes_max : part_of(options.limits.resident)),
      limits_(options.limits),
      read_use_(std::move(options.use)) {}

void MemoryBudget::look(std::int64_t now_us) {
  if (has_read_ && now_us - read_us_ < read_every_us) return;
  use_ = read_use_();
  has_read_ = true;
  read_us_ = now_us;
  expected_ = 0;
}

MemoryLimits MemoryBudget::budget() const {
  return {.resident = bytes_max_, .address_space = part_of(limits_.address_space)};
}

std::uint64_t MemoryBudget::bytes_left(std::int64_t now_us) {
  look(now_us);
  const auto left = [&](std::uint64_t used, std::uint64_t limit) {
    const std::uint64_t expected = used + expected_;
    return limit > expected ? limit - expected : 0;
  };
  return std::min(left(use_.resident, budget().resident),
                  left(use_.address_space, budget().address_space));
}

bool MemoryBudget::has_room(std::int64_t now_us, std::uint64_t copied_bytes) {
  look(now_us);
  const double again = has_room_ ? 1.0 : below_again;
  has_room_ = is_below(budget(), again, expected_) &&
              is_below(limits_, again * copying_part, expected_ + copied_bytes);
  return has_room_;
}

bool MemoryBudget::is_below(const MemoryLimits& most, double part_of_most,
                            std::uint64_t more) const {
  const auto fits = [&](std::uint64_t used, std::uint64_t limit) {
    return static_cast<double>(used) + static_cast<double>(more) <
           static_cast<double>(limit) * part_of_most;
  };
  return fits(use_.resident, most.resident) && fits(use_.address_space, most.address_space);
}

}  // namespace starling::stream
