// SPDX-License-Identifier: Apache-2.0
// Hashes of 64-bit numbers. SeededHash is for numbers that clients choose: without the secret seed,
// a client cannot choose numbers that collide in a hash table. split_mix draws random numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling {

/// 2^64 divided by the golden ratio. Its multiples are spread evenly.
inline constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15ULL;

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014). SplitMix64 applies it to seed +
/// golden_gamma, seed + 2 * golden_gamma and so on. Zero stays zero.
constexpr std::uint64_t split_mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

/// The finalizer of MurmurHash3 (Appleby). Zero stays zero.
constexpr std::uint64_t mixed_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdULL;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return bits ^ (bits >> 33);
}

/// Returns the XOR of both halves of the 128-bit product, as in wyhash (Wang Yi).
constexpr std::uint64_t folded_product(std::uint64_t left, std::uint64_t right) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A hash function for standard containers.
class SeededHash {
 public:
  explicit SeededHash(std::uint64_t seed = 0)
      : seed_(mixed_bits(seed)), factor_(mixed_bits(seed + golden_gamma) | 1) {}

  std::size_t operator()(std::uint64_t number) const {
    return folded_product(number ^ seed_, factor_);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t factor_;
};

}  // namespace starling
