// SPDX-License-Identifier: Apache-2.0
// Measures how long ZeroMQ alone takes for the messages of a tick. The workload `million` reports
// this time beside its own.
#pragma once

#include <cstddef>
#include <vector>

namespace starling::bench {

/// Sends one message to each subscriber, from one socket over loopback. `frame_bytes` has the sizes
/// of the frames of each message. Each subscriber has a thread. Returns the median, in
/// milliseconds, of the time from the first frame's sending until all subscribers have received
/// their last frame. The sender's context has one I/O thread for each subscriber. Throws
/// std::runtime_error if the messages do not arrive.
double bare_zmq_p50_ms(const std::vector<std::vector<std::size_t>>& frame_bytes);

}  // namespace starling::bench
