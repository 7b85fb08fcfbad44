// SPDX-License-Identifier: Apache-2.0
// The flags --engine, --devices, --threads and --method choose the Engine or VectorSearcher that a
// command runs on. Only this file and engines.cpp name the backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/lattice.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

struct EngineFlags {
  std::string engine = "auto";  ///< auto, cpu or cuda
  std::vector<int> devices;     ///< numbers of GPUs, used by cuda only; empty: the first GPU
  unsigned threads = 0;         ///< number of threads, used by cpu only; 0: one per core
  std::string simd = "best";    ///< an instruction set, by name; used by cpu only
};

struct SearcherFlags : EngineFlags {
  std::string method = "auto";
};

/// Adds --engine, --devices and --threads to a command that makes an Engine. An Engine runs on one
/// device.
void add_engine_flags(CLI::App& command, EngineFlags& flags);
/// Adds --engine, --devices and --threads to a command that makes a VectorSearcher. A
/// VectorSearcher can run on several devices.
void add_searcher_flags(CLI::App& command, EngineFlags& flags);
/// Adds --devices alone, to a command that needs a GPU.
void add_device_flag(CLI::App& command, EngineFlags& flags);
void add_simd_flag(CLI::App& command, EngineFlags& flags);
void add_method_flag(CLI::App& command, SearcherFlags& flags);

struct EngineChoice {
  std::string name;  ///< cpu or cuda
  std::string why;   ///< why this engine was chosen: a phrase for every summary
  /// Why there is no GPU, for `starling info`; empty if there is a GPU or --engine is cpu.
  std::string why_no_gpu;
  std::function<std::unique_ptr<Engine>(const SpaceOptions&)> make;
};

/// Resolves `auto` on this machine, or checks the engine that the flags name. `auto` falls back to
/// the CPU only if the flags name no device. Throws std::runtime_error with a sentence if the
/// chosen engine is not available, and sim::UsageError if the flags name several devices.
EngineChoice choose_engine(const EngineFlags& flags);

/// Makes an engine for replaying a server's log into tables, for example for a snapshot: on the
/// CPU, with one thread.
std::unique_ptr<Engine> snapshot_engine(const SpaceOptions& space);

struct SearcherChoice {
  std::unique_ptr<VectorSearcher> searcher;
  std::string why;  ///< see EngineChoice::why
  SearchMethod method = SearchMethod::automatic;
};

/// Chooses a VectorSearcher as choose_engine chooses an Engine, on one device or several. Throws
/// std::runtime_error with a sentence if the chosen engine is not available or lacks the method,
/// and sim::UsageError if the flags name a device twice.
SearcherChoice choose_searcher(const SearcherFlags& flags);

/// Times quick multi-select on a GPU.
struct SelectionTimer {
  std::string engine_name;
  double read_gb_per_s = 0;  ///< the measured read rate of the device's memory
  /// Returns the milliseconds of each run. Each run selects from other numbers. Some lists of the
  /// last run are checked.
  std::function<std::vector<double>(std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                                    int runs)>
      time_ms;
};

/// Chooses a GPU, whatever --engine says. Throws as choose_engine does for cuda.
SelectionTimer choose_selection_timer(const EngineFlags& flags);

/// What `starling info` shows about the cpu engine.
struct CpuFacts {
  std::string name;
  std::string simd_target;
  EngineLimits limits;
};
CpuFacts describe_cpu();

/// What `starling info` shows about the library with the cuda engine.
struct CudaFacts {
  std::string library;     ///< the path, with a note if unusable; or the paths searched
  std::string exchange{};  ///< how several GPUs merge lists; empty if the library cannot be used
};
CudaFacts describe_cuda();

}  // namespace starling::apps
