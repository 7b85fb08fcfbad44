// SPDX-License-Identifier: Apache-2.0
// Tests the exchange and the merging of lists of several devices. One device may be named several
// times.
#include "starling/gpu/vectors/exchange/list_exchange.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/gpu/device/devices.hpp"
#include "starling/gpu/vectors/exchange/shared_lists.hpp"

namespace starling::gpu {
namespace {

TEST(DeviceShare, EveryThingIsInOneShareAndSharesAreEven) {
  for (const std::uint64_t count : {0u, 1u, 2u, 3u, 7u, 8u, 1000u, 0x7fffffffu})
    for (std::size_t devices = 1; devices <= 9; ++devices) {
      std::uint64_t end = 0;
      for (std::size_t device = 0; device < devices; ++device) {
        const DeviceShare share = share_of(count, device, devices);
        EXPECT_EQ(share.begin, end);
        EXPECT_GE(share.count + 1, count / devices + (count % devices == 0 ? 1 : 0));
        EXPECT_LE(share.count, count / devices + 1);
        end = share.begin + share.count;
      }
      EXPECT_EQ(end, count);
    }
}

std::vector<int> device_numbers() {
  std::string why_none;
  std::vector<int> numbers;
  for (const DeviceInfo& device : find_devices(why_none)) numbers.push_back(device.number);
  return numbers;
}

/// Returns entry `entry` of the list that `device` has for `query`. Each list is sorted. The rows
/// of a query's lists interleave, and no two of these lists have the same row.
VectorNeighbor found_by(std::size_t device, std::size_t devices, std::uint32_t query,
                        std::uint32_t entry) {
  const auto row = static_cast<VectorRow>(entry * devices + (device + query) % devices);
  // The lists of the last device have only one row. Their other entries are empty.
  if (device + 1 == devices && entry > 0) return {std::numeric_limits<float>::infinity(), no_row};
  return {static_cast<float>(row / 3), row};
}

/// Makes lists of every device for the same queries. Exchanges and merges them, and compares the
/// merged lists with a sort of all entries.
void expect_merged(const std::vector<int>& numbers, ListExchange& exchange, std::uint32_t queries,
                   std::uint32_t k) {
  const std::size_t devices = numbers.size();
  SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(queries) + " queries, k " +
               std::to_string(k));
  DeviceMemory memory(~std::uint64_t{0});
  std::vector<CudaStream> streams;
  streams.reserve(devices);
  std::vector<std::unique_ptr<SharedLists>> all;
  std::vector<std::vector<VectorNeighbor>> found(devices);
  std::vector<ExchangeEnd> ends;
  for (std::size_t device = 0; device < devices; ++device) {
    check(cudaSetDevice(numbers[device]));
    streams.emplace_back();
    const SharedLists::Shape shape{queries, k, static_cast<std::uint32_t>(devices), 0};
    const std::uint64_t bytes_before = memory.bytes_used();
    all.push_back(std::make_unique<SharedLists>(memory, streams.back(), shape));
    EXPECT_LE(memory.bytes_used() - bytes_before, SharedLists::bytes_for(shape));
    for (std::uint32_t query = 0; query < queries; ++query)
      for (std::uint32_t entry = 0; entry < k; ++entry)
        found[device].push_back(found_by(device, devices, query, entry));
    check(cudaMemcpyAsync(all.back()->found(), found[device].data(),
                          found[device].size() * sizeof(VectorNeighbor), cudaMemcpyHostToDevice,
                          streams.back().get()));
    ends.push_back(all.back()->end());
  }
  exchange.exchange_async(ends, queries, k);
  for (std::size_t device = 0; device < devices; ++device) {
    check(cudaSetDevice(numbers[device]));
    const DeviceShare share = share_of(queries, device, devices);
    all[device]->merge_async(static_cast<std::uint32_t>(share.count), k,
                             static_cast<std::uint32_t>(devices));
    std::vector<VectorNeighbor> merged(share.count * k);
    all[device]->copy_merged_async(merged);
    streams[device].wait();
    for (std::uint64_t i = 0; i < share.count; ++i) {
      std::vector<VectorNeighbor> expected;
      for (const auto& lists : found) {
        const auto list = lists.begin() + static_cast<std::ptrdiff_t>((share.begin + i) * k);
        expected.insert(expected.end(), list, list + k);
      }
      std::ranges::sort(expected);
      expected.resize(k);
      const auto list = merged.begin() + static_cast<std::ptrdiff_t>(i * k);
      ASSERT_EQ(std::vector<VectorNeighbor>(list, list + k), expected)
          << "query " << share.begin + i;
    }
  }
}

void expect_merged(const std::vector<int>& numbers, ListTransport transport) {
  const auto exchange = make_list_exchange(numbers, transport);
  for (const std::uint32_t queries : {1u, 2u, 3u, 33u, 1000u})
    for (const std::uint32_t k : {1u, 7u, 100u, 2048u}) {
      expect_merged(numbers, *exchange, queries, k);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(ListExchange, CopiesMergeListsOfSharesOnOneDevice) {
  if (device_numbers().empty()) GTEST_SKIP() << "there is no GPU";
  const int number = device_numbers().front();
  EXPECT_EQ(make_list_exchange(std::vector{number, number}, ListTransport::automatic)->name(),
            "copies");
  for (std::size_t devices = 1; devices <= 5; ++devices)
    expect_merged(std::vector<int>(devices, number), ListTransport::copies);
}

TEST(ListExchange, CopiesMergeListsOfAllDevices) {
  if (device_numbers().size() < 2) GTEST_SKIP() << "there are fewer than two GPUs";
  expect_merged(device_numbers(), ListTransport::copies);
}

TEST(ListExchange, NcclMergesListsOfAllDevices) {
  if (device_numbers().size() < 2) GTEST_SKIP() << "there are fewer than two GPUs";
  std::string why_none;
  if (nccl_version(why_none).empty()) GTEST_SKIP() << why_none;
  EXPECT_EQ(make_list_exchange(device_numbers(), ListTransport::automatic)->name(), "nccl");
  expect_merged(device_numbers(), ListTransport::nccl);
}

TEST(ListExchange, NcclIsRefusedForOneDeviceTwice) {
  try {
    static_cast<void>(make_list_exchange(std::vector{0, 0}, ListTransport::nccl));
    FAIL() << "NCCL accepted a GPU that is named twice";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "NCCL does not accept a GPU that is named twice");
  }
}

TEST(ListExchange, TheVersionOfNcclIsToldOrWhyThereIsNone) {
  std::string why_none;
  const std::string version = nccl_version(why_none);
  if (version.empty())
    EXPECT_THAT(why_none, testing::HasSubstr("NCCL"));
  else
    EXPECT_THAT(version, testing::StartsWith("2."));
}

}  // namespace
}  // namespace starling::gpu
