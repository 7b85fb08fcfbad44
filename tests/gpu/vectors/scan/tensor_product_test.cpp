// SPDX-License-Identifier: Apache-2.0
// Checks that the error of the tensor cores' sums stays within the error that the filter's bounds
// assume.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/gpu/device/devices.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/filter_limits.hpp"
#include "starling/gpu/vectors/scan/filter_launch.hpp"
#include "tests/gpu/vectors/scan/tensor_product_probe.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

/// Returns the exact value of the half-precision number that has the bits `half`.
double value_of(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half >> 15 != 0 ? -size : size;
}

std::uint16_t half_of(bool is_negative, unsigned exponent, std::uint64_t fraction) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(is_negative) << 15 | exponent << 10 |
                                    static_cast<unsigned>(fraction));
}

enum class Data {
  random,          ///< any finite half-precision number
  near_one,        ///< magnitudes from 1 to 2, and both signs
  subnormal,       ///< subnormal rows, and large queries
  large_then_cut,  ///< one large product, then products smaller than its last bit
  large_cancels,   ///< one large product, smaller ones, and a last one that cancels the first
  ends,            ///< the bits of a fraction are all ones or all zeros
};

std::uint16_t component(test::Random& random, Data data, std::uint32_t at, std::uint32_t length,
                        bool is_query) {
  const bool sign = random.chance(0.5);
  const std::uint64_t fraction = random.below(1024);
  switch (data) {
    case Data::random:
      return half_of(sign, static_cast<unsigned>(random.below(31)), fraction);
    case Data::near_one:
      return half_of(sign, 15, fraction);
    case Data::subnormal:
      return is_query ? half_of(sign, 29, fraction) : half_of(sign, 0, fraction);
    case Data::large_then_cut:
    case Data::large_cancels: {
      // The first product is 2^15 * 2^15 = 2^30, and its last bit as float32 is 2^7. The next
      // products are positive and below 2^7. In `large_cancels` the last product is -2^30.
      if (at == 0) return half_of(false, 30, 0);
      if (at + 1 == length && data == Data::large_cancels) return half_of(is_query, 30, 0);
      return half_of(false, is_query ? 18 : 17, 1023 - random.below(3));
    }
    case Data::ends:
      return half_of(sign, static_cast<unsigned>(10 + random.below(12)),
                     random.chance(0.5) ? 1023 : 0);
  }
  return 0;
}

/// The parameter is true for products of four warps together.
class TensorProduct : public testing::TestWithParam<bool> {};

TEST_P(TensorProduct, SumsStayWithinTheModel) {
  std::string why_none;
  if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  if (GetParam() && !has_group_products()) GTEST_SKIP() << "not the code of a Hopper GPU";
  constexpr std::uint32_t tiles = 8;
  CudaStream stream;
  DeviceMemory memory(~std::uint64_t{0});
  for (const std::uint64_t seed : test::seeds(2)) {
    test::Random random(seed);
    double largest_share = 0;
    for (const Data data : {Data::random, Data::near_one, Data::subnormal, Data::large_then_cut,
                            Data::large_cancels, Data::ends})
      for (const std::uint32_t length : {32u, 96u, 128u, 800u, 4096u}) {
        std::vector<std::uint16_t> rows(std::size_t{tiles} * 16 * length);
        std::vector<std::uint16_t> queries(std::size_t{tiles} * 8 * length);
        for (std::size_t i = 0; i < rows.size(); ++i)
          rows[i] = component(random, data, static_cast<std::uint32_t>(i % length), length, false);
        for (std::size_t i = 0; i < queries.size(); ++i)
          queries[i] =
              component(random, data, static_cast<std::uint32_t>(i % length), length, true);
        DeviceBuffer<std::uint16_t> device_rows(memory, rows.size());
        DeviceBuffer<std::uint16_t> device_queries(memory, queries.size());
        DeviceBuffer<float> device_products(memory, tiles * 128);
        std::vector<float> products(tiles * 128);
        copy_to_device_async(std::span<const std::uint16_t>(rows), device_rows, stream);
        copy_to_device_async(std::span<const std::uint16_t>(queries), device_queries, stream);
        test::tensor_products_async(device_rows.data(), device_queries.data(), tiles, length,
                                    device_products.data(), GetParam(), stream);
        copy_to_host_async(static_cast<const float*>(device_products.data()), std::span(products),
                           stream);
        stream.wait();
        const double allowed = filter_limits(length).product_error;
        for (std::uint32_t pair = 0; pair < tiles * 128; ++pair) {
          const std::uint16_t* x = rows.data() + std::size_t{pair / 8} * length;
          const std::uint16_t* y =
              queries.data() + (std::size_t{pair / 128} * 8 + pair % 8) * length;
          long double sum = 0;  // each product is exact in a long double
          double x_sq = 0;
          double y_sq = 0;
          for (std::uint32_t j = 0; j < length; ++j) {
            sum += static_cast<long double>(value_of(x[j])) * value_of(y[j]);
            x_sq += value_of(x[j]) * value_of(x[j]);
            y_sq += value_of(y[j]) * value_of(y[j]);
          }
          const double error = static_cast<double>(std::fabs(products[pair] - sum));
          const double share = error / (allowed * std::sqrt(x_sq) * std::sqrt(y_sq));
          largest_share = std::max(largest_share, share);
          ASSERT_LE(share, 1) << "data " << static_cast<int>(data) << ", length " << length << "; "
                              << products[pair] << ", not " << static_cast<double>(sum)
                              << test::replay_hint(seed);
        }
      }
    RecordProperty("largest_share_of_allowance", std::to_string(largest_share));
    std::printf("largest share of the allowance: %.3f\n", largest_share);
  }
}

INSTANTIATE_TEST_SUITE_P(Products, TensorProduct, testing::Bool(), [](const auto& of) {
  return std::string(of.param ? "OfFourWarps" : "OfOneWarp");
});

}  // namespace
}  // namespace starling::gpu
