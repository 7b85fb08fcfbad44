// SPDX-License-Identifier: Apache-2.0
// Starling in one header, for C++20: knn and Index find the k nearest rows of a batch; Engine has
// objects that move, standing queries and ticks. All answers are exact. The header wraps
// starling.h, so link libstarling.so: starling::cpp in CMake, starling in pkg-config.
// docs/embedding.md explains it; examples/ask.cpp and examples/tick.cpp are complete programs.
//
// Every failure throws starling::Error. Views and iterators are valid as long as the object that
// made them. One thread at a time may use an object.
#pragma once

#if __cplusplus < 202002L
#error "starling.hpp needs C++20: compile with -std=c++20, or link starling::cpp with CMake."
#endif

#include "starling/clients/cpp/engine.hpp"
#include "starling/clients/cpp/index.hpp"
