// The methods by name, and a searcher on CPU threads, one GPU or several: see searcher_choice.hpp.
// `auto` takes the CPU where there is no GPU, unless GPUs were named.
#include "apps/shared/searcher_choice.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cpu/vectors/searcher.hpp"
#include "sim/traces/trace.hpp"
#ifdef STARLING_CUDA
#include "gpu/points/engine.hpp"
#include "gpu/vectors/split_searcher.hpp"
#endif

namespace starling::apps {
namespace {

constexpr std::array<std::pair<std::string_view, SearchMethod>, 7> methods{{
    {"auto", SearchMethod::automatic},
    {"kato", SearchMethod::kato},
    {"cuknn", SearchMethod::cuknn},
    {"iterative", SearchMethod::iterative},
    {"insertion", SearchMethod::insertion},
    {"multiselect", SearchMethod::multiselect},
    {"sbq", SearchMethod::sbq},
}};

SearchMethod method_named(std::string_view name) {
  for (const auto& [named, method] : methods)
    if (named == name) return method;
  throw std::runtime_error("--method: there is no " + std::string(name));
}

struct Candidate {
  std::unique_ptr<VectorSearcher> searcher;  ///< null: there is none, because of `why`
  std::string why;
};

#ifdef STARLING_CUDA

Candidate cuda_candidate(std::vector<int> numbers) {
  std::string why_none;
  const auto devices = gpu::find_devices(why_none);
  if (devices.empty()) return {nullptr, why_none};
  if (numbers.empty()) numbers = {devices.front().number};
  std::string names;
  for (const int number : numbers) {
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [&](const auto& other) { return other.number == number; });
    if (device == devices.end())
      return {nullptr, "--devices: there is no GPU " + std::to_string(number) +
                           " that this build has code for; see starling info"};
    names +=
        (names.empty() ? "on device " : " and ") + std::to_string(number) + ", " + device->name;
  }
  return {gpu::make_vector_searcher(numbers), names};
}

#else

Candidate cuda_candidate(const std::vector<int>& /*numbers*/) {
  return {nullptr,
          "this build has no CUDA engine; install CUDA 13 and configure with -DSTARLING_CUDA=ON"};
}

#endif

Candidate candidate(const SearcherFlags& flags) {
  std::set<int> named;
  for (const int number : flags.devices)
    if (!named.insert(number).second)
      throw sim::UsageError("--devices: " + std::to_string(number) + " stands there twice");
  if (flags.engine == "cpu") return {cpu::make_vector_searcher(flags.threads), "as asked"};
  Candidate cuda = cuda_candidate(flags.devices);
  if (cuda.searcher) return cuda;
  if (flags.engine == "cuda" || !flags.devices.empty())
    throw std::runtime_error("--engine cuda: " + cuda.why);
  return {cpu::make_vector_searcher(flags.threads), cuda.why};
}

}  // namespace

void add_searcher_engine(CLI::App& command, SearcherFlags& flags) {
  command
      .add_option("--engine", flags.engine, "What answers; auto: cuda where there is a GPU for it")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command
      .add_option(
          "--devices,--device", flags.devices,
          "Numbers of the GPUs, such as 0,1, for cuda; each holds all points and takes a share of "
          "the queries, or, where not all points fit each, a share of the points")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(0, 1023));
  command.add_option("--threads", flags.threads, "Threads that search, for cpu; 0: one per core")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

void add_searcher_choice(CLI::App& command, SearcherFlags& flags) {
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const auto& [name, method] : methods) names.emplace_back(name);
  command
      .add_option("--method", flags.method,
                  "How lists are found; every method gives the same bytes, and auto is the fastest "
                  "for the shape")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  add_searcher_engine(command, flags);
}

std::string describe_exchange() {
#ifdef STARLING_CUDA
  std::string why_none;
  const std::string version = gpu::nccl_version(why_none);
  return version.empty() ? "merge lists by copies: " + why_none : "merge lists by NCCL " + version;
#else
  return "this build has no CUDA engine";
#endif
}

SearcherChoice choose_searcher(const SearcherFlags& flags) {
  SearcherChoice choice;
  choice.method = method_named(flags.method);
  Candidate chosen = candidate(flags);
  choice.searcher = std::move(chosen.searcher);
  choice.why = std::move(chosen.why);
  if (!choice.searcher->supports(choice.method))
    throw std::runtime_error("--method " + flags.method + ": the engine " +
                             std::string(choice.searcher->name()) +
                             " does not know this method; leave it out, the answer is the same");
  return choice;
}

}  // namespace starling::apps
