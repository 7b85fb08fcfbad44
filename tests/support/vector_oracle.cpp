// SPDX-License-Identifier: Apache-2.0
// Implements vector_oracle in the simplest way, so that it is evidently right: see
// vector_oracle.hpp.
#include "tests/support/vector_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>

namespace starling::test {
namespace {

bool is_nearer(const VectorNeighbor& a, const VectorNeighbor& b) {
  if (a.score != b.score) return a.score < b.score;
  return a.row < b.row;
}

/// Returns coefficients[0] + coefficients[1] x + ..., with one rounding for each power.
float horner(std::initializer_list<float> coefficients, float x) {
  float value = 0;
  for (auto at = std::rbegin(coefficients); at != std::rend(coefficients); ++at)
    value = std::fma(value, x, *at);  // the first step is exact: 0 x + highest
  return value;
}

constexpr float least = 0x1p-126f;

float jensen_shannon_term(float x, float y) {
  const float u = (x - y) / std::max(x + y, least);
  const float w = u * u;
  if (w < 0.25f)
    return w * horner({1.0f, 0x1.55554ep-3f, 0x1.11147ep-4f, 0x1.23f142p-5f, 0x1.79f326p-6f,
                       0x1.5831f6p-7f, 0x1.75079ep-6f},
                      w);
  const float p = 1 + std::fabs(u);
  const float q = 1 - std::fabs(u);
  const float smaller = q * vector_oracle_logarithm(std::max(q, least));
  return std::fma(p, vector_oracle_logarithm(p), smaller);
}

float kullback_leibler_term(float x, float y) {
  const float t = x - y;
  const float a = x + y;
  const float u = t / std::max(a, least);
  const float w = u * u;
  if (w < 0.25f) {
    const float b = horner({0x1.555556p-2f, 0x1.999964p-3f, 0x1.249fc4p-3f, 0x1.c4a45ap-4f,
                            0x1.8f7082p-4f, 0x1.4f2f8ep-5f, 0x1.4015d6p-3f},
                           w);
    return a * w * std::fma(u, b, std::fma(w, b, 1.0f));
  }
  const float ratio = std::max(x, least) / std::max(y, least);
  return std::max(std::fma(x, vector_oracle_logarithm(ratio), -t), 0.0f);
}

}  // namespace

float vector_oracle_logarithm(float r) {
  constexpr float root = 0x1.6a09e6p-1f;
  int exponent = 0;
  float mantissa = std::frexp(r, &exponent);
  if (mantissa < root) {
    mantissa *= 2;
    --exponent;
  }
  const float v = mantissa - 1;
  const float q =
      horner({-0x1.fffffep-2f, 0x1.555554p-2f, -0x1.00020cp-2f, 0x1.99a012p-3f, -0x1.548382p-3f,
              0x1.22ea5ap-3f, -0x1.0cda32p-3f, 0x1.048f72p-3f, -0x1.3a4ff6p-4f},
             v);
  return std::fma(static_cast<float>(exponent), 0x1.62e430p-1f, std::fma(v * v, q, v));
}

float vector_oracle_score(Metric metric, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float difference = x[j] - y[j];
    switch (metric) {
      case Metric::inner_product:
        sum = std::fma(x[j], y[j], sum);
        break;
      case Metric::l1:
        sum += std::fabs(difference);
        break;
      case Metric::chebyshev:
        sum = std::fabs(difference) > sum ? std::fabs(difference) : sum;
        break;
      case Metric::jensen_shannon:
        sum = std::fma(x[j] + y[j], jensen_shannon_term(x[j], y[j]), sum);
        break;
      case Metric::kullback_leibler:
        sum += kullback_leibler_term(x[j], y[j]);
        break;
      default:
        sum = std::fma(difference, difference, sum);
    }
  }
  return metric == Metric::inner_product ? 0.0f - sum : sum;
}

std::vector<VectorNeighbor> vector_oracle(Metric metric, VectorsView corpus, VectorsView queries,
                                          std::uint32_t k, VectorRow first_self) {
  std::vector<VectorNeighbor> lists;
  for (VectorRow query = 0; query < queries.rows(); ++query) {
    std::vector<VectorNeighbor> all;
    for (VectorRow row = 0; row < corpus.rows(); ++row) {
      const bool is_self = first_self != no_row && row == std::uint64_t{first_self} + query;
      if (is_self) continue;
      all.push_back({vector_oracle_score(metric, queries.row(query), corpus.row(row)), row});
    }
    std::sort(all.begin(), all.end(), is_nearer);
    all.resize(k, {std::numeric_limits<float>::infinity(), no_row});
    lists.insert(lists.end(), all.begin(), all.end());
  }
  return lists;
}

}  // namespace starling::test
