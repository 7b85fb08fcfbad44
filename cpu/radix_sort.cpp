#include "cpu/radix_sort.hpp"

#include <algorithm>
#include <array>

namespace starling::cpu {
namespace {

constexpr int digit_bits_max = 11;  // 2,048 write streams stay within the second-level cache
constexpr std::size_t small_sort = 2048;

using Histogram = std::array<std::uint32_t, 1u << digit_bits_max>;

struct Digit {
  int shift;
  std::uint64_t mask;
  std::size_t of(std::uint64_t entry) const { return (entry >> shift) & mask; }
};

// One stable pass: chunks count, a scan gives every chunk its places, chunks scatter.
void pass(const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to, Digit digit,
          std::vector<Histogram>& histograms, ThreadPool& pool) {
  const std::size_t chunks = histograms.size();
  const auto begin_of = [&](std::size_t chunk) { return from.size() * chunk / chunks; };
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    Histogram& histogram = histograms[chunk];
    histogram.fill(0);
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i)
      ++histogram[digit.of(from[i])];
  });
  std::uint32_t place = 0;
  for (std::size_t value = 0; value <= digit.mask; ++value)
    for (Histogram& histogram : histograms) {
      const std::uint32_t count = histogram[value];
      histogram[value] = place;
      place += count;
    }
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    Histogram& histogram = histograms[chunk];
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i)
      to[histogram[digit.of(from[i])]++] = from[i];
  });
}

}  // namespace

void radix_sort(std::vector<std::uint64_t>& entries, std::vector<std::uint64_t>& spare,
                int key_bits, ThreadPool& pool) {
  if (entries.size() <= small_sort) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](std::uint64_t a, std::uint64_t b) { return (a >> 32) < (b >> 32); });
    return;
  }
  spare.resize(entries.size());
  const int passes = (key_bits + digit_bits_max - 1) / digit_bits_max;
  const int digit_bits = (key_bits + passes - 1) / passes;
  std::vector<Histogram> histograms(pool.threads());
  for (int i = 0; i < passes; ++i) {
    const Digit digit{32 + i * digit_bits, (std::uint64_t{1} << digit_bits) - 1};
    pass(entries, spare, digit, histograms, pool);
    entries.swap(spare);
  }
}

}  // namespace starling::cpu
