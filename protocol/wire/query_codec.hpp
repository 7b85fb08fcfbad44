// SPDX-License-Identifier: Apache-2.0
// Encodes the Query tables of requests and replies. Private: included by protocol/wire/*.cpp only.
#pragma once

#include <vector>

#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Query>>> add_queries(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<QuerySpec>& queries);

/// Reads a query. The table's enums must be valid. Copies the vector of a fixed anchor.
QuerySpec query_of(const wire::Query& table);

}  // namespace starling::protocol
