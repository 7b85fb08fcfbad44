// SPDX-License-Identifier: Apache-2.0
// Makes one sample of each request and reply, with fields that differ from their defaults. Also
// makes reports to encode as lists. Tests of protocol/ and stream/ and the fuzz targets use these
// samples.
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
  Limits limits{};  ///< the limits of a server that accepts the request
};

struct NamedFrame {
  std::string name;
  std::vector<std::byte> bytes;
  Limits limits{};
};

/// Returns the limits of a server for vectors of dimension 3.
Limits vector_limits(Metric metric = Metric::l2);

/// Returns one request of each kind, valid for a planar2 server with default limits. Some kinds
/// have other fields for a server of vectors: they come again at the end, with these fields.
std::vector<NamedRequest> sample_requests();
std::vector<NamedFrame> sample_request_frames();
std::vector<NamedFrame> sample_reply_frames();

/// Three lists of a stream that carries distances, positions and tags. The first list has a subject
/// and two neighbours, the second list is empty, and the third list is removed.
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

/// Four lists of vectors with the metric cosine. The first list has a vote for a label and a mean,
/// the second list has the vote no_label and the mean no_value, the third list is removed, and the
/// fourth list has neither vote nor mean.
struct SampleVectorLists {
  SampleVectorLists();
  ListSource source() const { return {reports, {.tags = true}, nullptr, Metric::cosine}; }

  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;
  std::vector<QueryReport> reports;
};

std::vector<std::byte> copy_of(const Frame& frame);

}  // namespace starling::protocol::test
