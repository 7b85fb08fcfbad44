// For one GPU it is a DeviceSearcher: see vector_searcher.hpp. For several, see split_searcher.cpp.
#include "gpu/vectors/searcher.hpp"

#include "gpu/vectors/device_searcher.hpp"

namespace starling::gpu {

std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options) {
  return std::make_unique<DeviceSearcher>(options);
}

std::unique_ptr<VectorSearcher> make_vector_searcher(int device) {
  VectorSearcherOptions options;
  options.device = device;
  return make_vector_searcher(options);
}

}  // namespace starling::gpu
