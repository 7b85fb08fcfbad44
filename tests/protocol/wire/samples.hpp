// SPDX-License-Identifier: Apache-2.0
// One sample of each request and reply, with fields that differ from their defaults, and reports to
// encode as lists. Tests of protocol/ and of stream/ and the fuzz targets use these samples.
#pragma once

#include <string>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol::test {

struct NamedRequest {
  std::string name;
  RequestHead head;
  RequestBody body;
  Limits limits{};  ///< of a server that accepts the request
};

struct NamedFrame {
  std::string name;
  std::vector<std::byte> bytes;
  Limits limits{};
};

/// Returns the limits of a server for vectors of dimension 3.
Limits vector_limits(Metric metric = Metric::l2);

/// Returns one request of each kind, valid for a planar2 server with default limits. After these
/// come the kinds of request that have other fields for a server of vectors.
std::vector<NamedRequest> sample_requests();
std::vector<NamedFrame> sample_request_frames();
std::vector<NamedFrame> sample_reply_frames();

/// Three lists of a stream that carries distances, positions and tags. The first has a subject and
/// two neighbours, the second is empty, the third is removed.
struct SampleLists {
  SampleLists();
  ListSource source() const {
    return {reports, {.position = true, .tags = true}, &lattice, Metric::l2};
  }

  Lattice lattice{SpaceOptions{}};
  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;
  std::vector<QueryReport> reports;
};

/// Lists of vectors with the metric cosine. The first list has a vote for a label, the second has
/// the vote no_label, the third is removed, and the fourth has no vote.
struct SampleVectorLists {
  SampleVectorLists();
  ListSource source() const { return {reports, {.tags = true}, nullptr, Metric::cosine}; }

  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;
  std::vector<QueryReport> reports;
};

std::vector<std::byte> copy_of(const Frame& frame);

}  // namespace starling::protocol::test
