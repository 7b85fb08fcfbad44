// SPDX-License-Identifier: Apache-2.0
// Writes the message of a DeviceError, and decides which errors are final: see check.hpp.
#include "starling/gpu/device/check.hpp"

namespace starling::gpu {
namespace {

std::string sentence(cudaError_t code, const std::source_location& where) {
  std::string text = "the GPU answered '";
  text.append(cudaGetErrorString(code)).append("' (").append(cudaGetErrorName(code));
  text.append(") at ").append(where.file_name()).append(":").append(std::to_string(where.line()));
  if (code == cudaErrorMemoryAllocation)
    text.append("; use fewer objects, queries or vectors at a time, or ask for fewer neighbours");
  return text;
}

}  // namespace

DeviceError::DeviceError(cudaError_t code, const std::source_location& where)
    : std::runtime_error(sentence(code, where)), code_(code) {}

// Each code listed here means that only one call failed. These codes do not concern the device
// itself, and CUDA's documentation does not say that they leave "the process in an inconsistent
// state". All other codes are final: exceptions on the device, after which every call returns the
// same code; lost or unusable devices and drivers; and codes that future versions of CUDA add.
bool DeviceError::is_final() const {
  switch (code_) {
    case cudaErrorMemoryAllocation:
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMemoryValueTooLarge:
    case cudaErrorMissingConfiguration:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorIllegalState:
    case cudaErrorNotReady:
    case cudaErrorNotPermitted:
    case cudaErrorNotSupported:
    case cudaErrorGraphExecUpdateFailure:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureWrongThread:
      return false;
    default:
      return true;
  }
}

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // otherwise check_launch() would report this error again
  throw DeviceError(code, where);
}

}  // namespace starling::gpu
