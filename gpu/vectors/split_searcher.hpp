// Several GPUs of one host as one VectorSearcher. Where each holds the corpus, each answers a share
// of the queries, and nothing is merged; else each holds a share of the rows, all answer all
// queries, and the lists are merged. A graph by Kato & Hosino's method is shared out as theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpu/vectors/exchange/list_transport.hpp"
#include "gpu/vectors/searcher.hpp"

namespace starling::gpu {

/// Which of a corpus' rows a device has.
enum class RowPlacement : std::uint8_t {
  automatic,  ///< all if all find room on each device at once, else shares
  shares,     ///< device i of g of n rows those from n i / g on
};

struct SplitOptions {
  RowPlacement placement = RowPlacement::automatic;
  ListTransport transport = ListTransport::automatic;
};

/// Over these devices, at least one; one that is named twice has two shares, and no use of them.
/// Throws as make_vector_searcher(const VectorSearcherOptions&).
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const VectorSearcherOptions> devices,
                                                     const SplitOptions& options = {});
/// Over the devices of these CUDA numbers.
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices);

}  // namespace starling::gpu
