// One of each request and reply, filled with values that no field has by default, and reports to
// encode as lists. Shared by the codec tests.
#pragma once

#include <string>
#include <vector>

#include "knn/lattice.hpp"
#include "knn/processor.hpp"
#include "protocol/frame.hpp"
#include "protocol/limits.hpp"
#include "protocol/messages.hpp"

namespace starling::protocol::test {

struct NamedRequest {
  std::string name;
  RequestHead head;
  RequestBody body;
};

struct NamedFrame {
  std::string name;
  std::vector<std::byte> bytes;
};

/// One of each kind, all valid in a planar2 server with default limits.
std::vector<NamedRequest> sample_requests();
std::vector<NamedFrame> sample_request_frames();
std::vector<NamedFrame> sample_reply_frames();

/// Three lists of a stream with everything: one of two neighbours, one empty, one removed; the
/// first has a subject.
struct SampleLists {
  SampleLists();
  ListSource source() const { return {reports, {.position = true, .tags = true}, &lattice}; }

  Lattice lattice{SpaceOptions{}};
  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;
  std::vector<QueryReport> reports;
};

std::vector<std::byte> copy_of(const Frame& frame);

}  // namespace starling::protocol::test
