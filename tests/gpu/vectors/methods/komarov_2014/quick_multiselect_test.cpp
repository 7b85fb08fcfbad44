// SPDX-License-Identifier: Apache-2.0
// Selects the k least values of each row of a matrix, and compares the result with a sort of the
// row.
#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "starling/gpu/device/devices.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The values in each row of the matrix.
enum class Values { uniform, ascending, descending, equal, few, ends_in_infinity };

class CudaMultiselect : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  static float value_of(Values values, test::Random& random, std::uint32_t column) {
    switch (values) {
      case Values::uniform:
        return static_cast<float>(random.unit() * 2 - 1);
      case Values::ascending:
        return static_cast<float>(column);
      case Values::descending:
        return -static_cast<float>(column);
      case Values::equal:
        return 0.5f;
      case Values::few:
        return static_cast<float>(random.below(3));
      case Values::ends_in_infinity:
        return column < 9 ? static_cast<float>(column % 4) : infinity;
    }
    return 0;
  }

  static void expect_selected(std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                              Values values, SelectedBy by) {
    test::Random random(columns + k);
    std::vector<float> matrix;
    matrix.reserve(std::size_t{rows} * columns);
    for (std::uint32_t i = 0; i < rows * columns; ++i)
      matrix.push_back(value_of(values, random, i % columns));
    DeviceMemory memory(~std::uint64_t{0});
    const CudaStream stream;
    DeviceBuffer<float> on(memory, matrix.size());
    copy_to_device_async(std::span<const float>(matrix), on, stream);
    std::vector<VectorNeighbor> lists(std::size_t{rows} * k, {-1, 12345});
    DeviceBuffer<VectorNeighbor> lists_on(memory, lists.size());
    copy_to_device_async(std::span<const VectorNeighbor>(lists), lists_on, stream);
    QuickMultiselect select(memory, std::uint64_t{16} << 20);
    RowSelection selection;
    selection.values = on.data();
    selection.stride = columns;
    selection.rows = rows;
    selection.columns = columns;
    selection.k = k;
    selection.by = by;
    selection.lists = lists_on.data();
    const DrainAtEnd drain(stream);
    select.select_async(selection, stream);
    copy_to_host_async(static_cast<const VectorNeighbor*>(lists_on.data()),
                       std::span<VectorNeighbor>(lists), stream);
    stream.wait();
    for (std::uint32_t row = 0; row < rows; row += std::max(rows / 4, 1u)) {
      std::vector<VectorNeighbor> all;
      for (std::uint32_t column = 0; column < columns; ++column)
        all.push_back({matrix[std::size_t{row} * columns + column], column});
      std::sort(all.begin(), all.end());
      all.resize(k, {infinity, no_row});
      for (std::uint32_t rank = 0; rank < k; ++rank)
        ASSERT_EQ(lists[std::size_t{row} * k + rank], all[rank])
            << "row " << row << ", rank " << rank << " of " << k << ", columns " << columns
            << ", values " << static_cast<int>(values);
    }
  }
};

TEST_F(CudaMultiselect, SelectsExactlyWhateverTheRowsAre) {
  for (const SelectedBy by : {SelectedBy::warp, SelectedBy::block})
    for (const Values values : {Values::uniform, Values::ascending, Values::descending,
                                Values::equal, Values::few, Values::ends_in_infinity})
      for (const std::uint32_t columns : {1u, 63u, 65u, 1025u, 5'000u, 70'001u})
        for (const std::uint32_t k : {2u, 43u, 64u, 100u, 200u, 512u, 1024u, 2048u})
          ASSERT_NO_FATAL_FAILURE(expect_selected(3, columns, k, values, by));
}

TEST_F(CudaMultiselect, ManyRowsAndLongRows) {
  expect_selected(6'000, 700, 16, Values::uniform, SelectedBy::whoever_is_faster);
  expect_selected(2, 3'000'001, 1000, Values::uniform, SelectedBy::whoever_is_faster);
  expect_selected(2, 3'000'001, 2, Values::descending, SelectedBy::warp);
}

}  // namespace
}  // namespace starling::gpu
