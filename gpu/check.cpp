#include "gpu/check.hpp"

namespace starling::gpu {
namespace {

std::string sentence(cudaError_t code, const std::source_location& where) {
  std::string text = "the GPU answered '";
  text.append(cudaGetErrorString(code)).append("' (").append(cudaGetErrorName(code));
  text.append(") at ").append(where.file_name()).append(":").append(std::to_string(where.line()));
  if (code == cudaErrorMemoryAllocation)
    text.append("; remove objects or queries, or ask for fewer neighbours");
  return text;
}

}  // namespace

DeviceError::DeviceError(cudaError_t code, const std::source_location& where)
    : std::runtime_error(sentence(code, where)), code_(code) {}

bool DeviceError::is_final() const {
  return code_ != cudaErrorMemoryAllocation && code_ != cudaErrorInvalidValue;
}

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // not to be found again after the next launch
  throw DeviceError(code, where);
}

}  // namespace starling::gpu
