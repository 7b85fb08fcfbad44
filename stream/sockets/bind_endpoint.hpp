// SPDX-License-Identifier: Apache-2.0
// Opens the listening socket of a ZeroMQ endpoint. CommandSocket and ResultsSocket call
// bind_endpoint.
#pragma once

#include <string>
#include <utility>

#include "starling/knn/base/descriptor.hpp"
#include "starling/stream/sockets/reach.hpp"

namespace starling::stream {

/// A listening socket. The destructor closes it, and removes the file of a local socket.
class BoundEndpoint {
 public:
  BoundEndpoint(Descriptor descriptor, std::string endpoint, std::string path)
      : descriptor_(std::move(descriptor)),
        endpoint_(std::move(endpoint)),
        path_(std::move(path)) {}
  BoundEndpoint(BoundEndpoint&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        endpoint_(std::move(other.endpoint_)),
        path_(std::exchange(other.path_, {})) {}
  BoundEndpoint& operator=(BoundEndpoint&&) = delete;
  ~BoundEndpoint();

  /// The endpoint, with the port that the system has chosen for *.
  const std::string& endpoint() const { return endpoint_; }
  /// Hands over the descriptor. The caller closes it, before this object is destroyed.
  int release() { return descriptor_.release(); }

 private:
  Descriptor descriptor_;
  std::string endpoint_;
  std::string path_;  ///< the file of a local socket; empty for tcp://
};

/// Listens on the endpoint. Throws std::runtime_error if the endpoint is malformed, if its reach is
/// beyond `allowed`, or if the system refuses. The exception's text is the end of a sentence: how
/// to write an endpoint, what to do about the reach, or the system's message.
BoundEndpoint bind_endpoint(const std::string& endpoint, Reach allowed);

/// Returns how to write an endpoint if `endpoint` is malformed, and an empty text if it is not.
/// Binds nothing, so the address may still be in use or belong to another machine.
std::string fault_of_endpoint(const std::string& endpoint);

}  // namespace starling::stream
