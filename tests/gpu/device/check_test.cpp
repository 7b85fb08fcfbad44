// SPDX-License-Identifier: Apache-2.0
// Tests the sentence of a DeviceError, and which errors count as final.
#include "starling/gpu/device/check.hpp"

#include <string>

#include <gmock/gmock.h>

namespace starling::gpu {
namespace {

using ::testing::HasSubstr;

bool is_final(cudaError_t code) {
  return DeviceError(code, std::source_location::current()).is_final();
}

TEST(DeviceError, WhatLeavesNoDeviceToGoOnWithIsFinal) {
  for (const cudaError_t code :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout, cudaErrorAssert,
        cudaErrorMisalignedAddress, cudaErrorHardwareStackError, cudaErrorContained,
        cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorDevicesUnavailable,
        cudaErrorNoKernelImageForDevice, cudaErrorUnknown})
    EXPECT_TRUE(is_final(code)) << cudaGetErrorName(code);
  EXPECT_TRUE(is_final(static_cast<cudaError_t>(9999))) << "an unknown code";
}

TEST(DeviceError, ARefusedCallIsNot) {
  for (const cudaError_t code :
       {cudaErrorMemoryAllocation, cudaErrorInvalidValue, cudaErrorInvalidConfiguration,
        cudaErrorLaunchOutOfResources, cudaErrorNotSupported})
    EXPECT_FALSE(is_final(code)) << cudaGetErrorName(code);
}

TEST(DeviceError, ItsSentenceSaysWhatHelpsAgainstFullMemory) {
  const DeviceError error(cudaErrorMemoryAllocation, std::source_location::current());
  EXPECT_THAT(error.what(), HasSubstr("cudaErrorMemoryAllocation"));
  EXPECT_THAT(error.what(), HasSubstr("use fewer objects, queries or vectors at a time"));
}

}  // namespace
}  // namespace starling::gpu
