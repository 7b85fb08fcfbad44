// SPDX-License-Identifier: Apache-2.0
// Fails each allocation of a group of log records once.
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/log/pending_group.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::log {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Returns the sealed bytes of three records. Allocation number `failing` fails, and the step that
/// failed is repeated.
std::vector<std::byte> sealed(std::uint64_t failing, bool& has_failed) {
  const std::string text(300, 'a');
  PendingGroup group(1);
  PendingGroup next(2);
  next.append(RecordType{1}, 0, bytes_of(text));
  next.append(RecordType{1}, 0, bytes_of(text));
  LogPosition position;
  std::span<const std::byte> bytes;
  {
    const test::FailingAllocation allocation(failing);
    const auto again = [](const auto& function) {
      try {
        function();
      } catch (const std::bad_alloc&) {
        function();
      }
    };
    again([&] { group.append(RecordType{1}, 0, bytes_of(text)); });
    again([&] { group.append_group(next); });
    again([&] { bytes = group.seal(position, 7); });
    has_failed = allocation.has_failed();
  }
  EXPECT_EQ(position.next_sequence, 4U);
  return {bytes.begin(), bytes.end()};
}

TEST(PendingGroupMemory, RunsOutAndTheGroupIsAsBefore) {
  bool has_failed = true;
  const std::vector<std::byte> expected = sealed(1'000'000, has_failed);
  EXPECT_FALSE(has_failed);
  std::uint64_t number = 0;
  do {
    ++number;
    EXPECT_EQ(sealed(number, has_failed), expected) << "allocation " << number;
  } while (has_failed);
  EXPECT_GT(number, 3U);
}

}  // namespace
}  // namespace starling::log
