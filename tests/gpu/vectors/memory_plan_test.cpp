// SPDX-License-Identifier: Apache-2.0
// Tests how device memory is divided: every share is counted, and the error for too little memory
// gives the number of bytes that is enough. No device is needed.
#include "starling/gpu/vectors/memory_plan.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/corpus/row_upload.hpp"
#include "starling/gpu/vectors/scan/workspace.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

/// A view of `rows` rows. Reading them is an error.
VectorsView unread_rows(std::uint32_t rows, std::uint32_t dimension) {
  static const float one = 0;
  return {{&one, std::size_t{rows} * dimension}, dimension};
}

std::string sentence_for(std::uint64_t bytes, VectorsView corpus) {
  try {
    plan_memory(Metric::l2, corpus, {}, bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryPlan, AllSharesTogetherFit) {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const auto dimension = static_cast<std::uint32_t>(1 + random.below(dimension_max));
    const auto rows = static_cast<std::uint32_t>(random.below(20'000'000));
    const VectorsView corpus = unread_rows(rows, dimension);
    const std::uint64_t bytes = (std::uint64_t{1} << 30) + random.below(std::uint64_t{1} << 37);
    for (const Metric metric : {Metric::l2, Metric::l1})
      for (const FilterUse use : {FilterUse::never, FilterUse::where_faster}) {
        SCOPED_TRACE(test::replay_hint(seed));
        const MemoryPlan plan = plan_memory(metric, corpus, {use}, bytes);
        const bool is_whole = plan.part_rows >= rows;
        EXPECT_EQ(is_whole, fits_memory(corpus, bytes));
        if (!is_whole || metric == Metric::l1 || use == FilterUse::never) {
          EXPECT_EQ(plan.shadow, Shadow::none);
        }
        const std::uint64_t of_rows =
            DeviceVectors::bytes_for(is_whole ? rows : plan.part_rows, dimension, plan.shadow);
        EXPECT_LE(
            of_rows + RowUpload::bytes_for(dimension) + plan.transfer_bytes + plan.workspace_bytes,
            bytes);
        EXPECT_GE(plan.workspace_bytes, VectorWorkspace::bytes_min(dimension));
        EXPECT_GE(plan.transfer_bytes, query_bytes(dimension, vector_k_max));
      }
  }
}

TEST(MemoryPlan, TooLittleMemorySaysHowMuchIsEnough) {
  for (const std::uint32_t dimension : {1U, 100U, dimension_max}) {
    const VectorsView corpus = unread_rows(5'000'000, dimension);
    const std::string sentence = sentence_for(1 << 20, corpus);
    const std::string before = "the GPU has too little memory for vectors: ";
    ASSERT_TRUE(sentence.starts_with(before)) << sentence;
    const std::uint64_t enough = std::stoull(sentence.substr(before.size()));
    EXPECT_EQ(sentence_for(enough, corpus), "");
    EXPECT_NE(sentence_for(enough - 2, corpus), "");
  }
}

}  // namespace
}  // namespace starling::gpu
