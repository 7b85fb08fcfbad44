// SPDX-License-Identifier: Apache-2.0
// How many rows of each kind go into one request, so that no request exceeds the limits of its
// server. RestoringClient and KeptQueries divide batches by these numbers.
#pragma once

#include <cstddef>

#include "starling/protocol/wire/limits.hpp"

namespace starling::protocol {

// Each function returns at least 1.

/// Rows of an UpdateBatch: at most 65,536, and at most a quarter of the credit, so that several
/// requests can be under way.
std::size_t updates_at_once(const Limits& limits);
/// Names of a PutNames, even if each name has text_bytes_max bytes.
std::size_t names_at_once(const Limits& limits);
/// Queries of a PutQueries, even if each query has a vector.
std::size_t queries_at_once(const Limits& limits);
/// Rows of all other batches: rows_max.
std::size_t ids_at_once(const Limits& limits);

}  // namespace starling::protocol
