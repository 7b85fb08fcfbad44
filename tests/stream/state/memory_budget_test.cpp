// SPDX-License-Identifier: Apache-2.0
// Tests when MemoryBudget has room, and which limits memory_limits finds in the files of control
// groups. The files are in a folder of the test's own.
#include "starling/stream/state/memory_budget.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace starling::stream {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t no_limit = ~std::uint64_t{0};

class ControlGroups : public testing::Test {
 protected:
  ControlGroups() { std::filesystem::create_directories(root); }
  ~ControlGroups() override { std::filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  std::uint64_t resident() const { return memory_limits(root).resident; }

  const std::string root = testing::TempDir() + "starling_groups_" + std::to_string(getpid());
  const std::uint64_t machine = memory_limits("/there is no such folder").resident;
};

TEST_F(ControlGroups, WithoutFilesTheMachinesMemoryIsTheLimit) {
  EXPECT_EQ(machine, static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST_F(ControlGroups, OfVersionTwoTheLeastOfAllGroupsAboveCounts) {
  write("/proc/self/cgroup", "0::/system.slice/starling.service");
  write("/sys/fs/cgroup/system.slice/starling.service/memory.max", "max");
  EXPECT_EQ(resident(), machine);
  write("/sys/fs/cgroup/system.slice/memory.max", std::to_string(700 * mib));
  EXPECT_EQ(resident(), 700 * mib);
  write("/sys/fs/cgroup/system.slice/starling.service/memory.max", std::to_string(900 * mib));
  EXPECT_EQ(resident(), 700 * mib);
  write("/sys/fs/cgroup/system.slice/starling.service/memory.high", std::to_string(600 * mib));
  EXPECT_EQ(resident(), 600 * mib);
}

TEST_F(ControlGroups, InAContainerTheGroupAtTheMountCounts) {
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/memory.max", std::to_string(500 * mib));
  EXPECT_EQ(resident(), 500 * mib);
  write("/proc/self/cgroup", "0::/docker/0123456789");
  EXPECT_EQ(resident(), 500 * mib);
}

TEST_F(ControlGroups, OfVersionOneTheControllerOfMemoryCounts) {
  write("/proc/self/cgroup", "12:cpu,cpuacct:/a\n4:memory:/docker/0123\n0::/");
  write("/sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", std::to_string(400 * mib));
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(resident(), 400 * mib);
}

TEST_F(ControlGroups, StrangeFilesAreNoLimit) {
  write("/proc/self/cgroup", "nonsense\n0:\n\n0::");
  write("/sys/fs/cgroup/memory.max", "-");
  EXPECT_EQ(resident(), machine);
}

class Budget : public testing::Test {
 protected:
  MemoryBudget budget(MemoryLimits limits, std::uint64_t bytes_max = 0) {
    return MemoryBudget({.bytes_max = bytes_max, .limits = limits, .use = [this] {
                           ++looks;
                           return use;
                         }});
  }

  MemoryUse use{.resident = 50 * mib, .address_space = 500 * mib};
  int looks = 0;
};

TEST_F(Budget, IsAPartOfTheLimitUnlessItIsGiven) {
  EXPECT_EQ(budget({.resident = 100 * mib}).bytes_max(), 85 * mib);
  EXPECT_EQ(budget({.resident = 100 * mib}, 30 * mib).bytes_max(), 30 * mib);
  EXPECT_EQ(budget({}).bytes_max(), no_limit);
}

TEST_F(Budget, HasNoRoomFromTheBudgetOnUntilTwoPercentAreFree) {
  MemoryBudget memory = budget({.resident = 1000 * mib}, 100 * mib);
  std::int64_t now_us = 0;
  const auto has_room_at = [&](std::uint64_t mibs) {
    use.resident = mibs * mib;
    return memory.has_room(now_us += 10'000);
  };
  EXPECT_TRUE(has_room_at(99));
  EXPECT_FALSE(has_room_at(100));
  EXPECT_FALSE(has_room_at(99)) << "else it would change its mind again and again";
  EXPECT_TRUE(has_room_at(97));
  EXPECT_TRUE(has_room_at(99));
}

TEST_F(Budget, LooksSeldomAndCountsWhatIsExpectedMeanwhile) {
  MemoryBudget memory = budget({.resident = 1000 * mib}, 100 * mib);
  EXPECT_TRUE(memory.has_room(0));
  memory.expect(49 * mib);
  EXPECT_TRUE(memory.has_room(9'999));
  memory.expect(1 * mib);
  EXPECT_FALSE(memory.has_room(9'999));
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(memory.has_room(10'000)) << "what was expected is now in use, or was never used";
  EXPECT_EQ(looks, 2);
}

TEST_F(Budget, AGrowingArrayMustFitTheLimitWhileItIsCopied) {
  MemoryBudget memory = budget({.resident = 100 * mib});
  EXPECT_TRUE(memory.has_room(0, 40 * mib));
  EXPECT_FALSE(memory.has_room(0, 48 * mib));
}

TEST_F(Budget, AddressSpaceHasItsOwnLimit) {
  EXPECT_TRUE(budget({.resident = 1000 * mib, .address_space = 600 * mib}).has_room(0));
  EXPECT_FALSE(budget({.resident = 1000 * mib, .address_space = 550 * mib}).has_room(0));
}

TEST(MemoryUse, IsThatOfThisProcess) {
  const MemoryUse before = memory_use();
  const std::vector<char> more(64 * mib, 'x');
  EXPECT_GE(memory_use().resident, before.resident + 60 * mib);
  EXPECT_GE(memory_use().address_space, memory_use().resident);
  EXPECT_EQ(more.back(), 'x');
}

TEST(MemoryLimitsTest, RlimitOfAddressesCounts) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit large{.rlim_cur = std::uint64_t{1} << 46, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &large), 0);
  EXPECT_EQ(memory_limits().address_space, std::uint64_t{1} << 46);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(memory_limits().address_space, no_limit);
}

}  // namespace
}  // namespace starling::stream
