#include "apps/searcher_choice.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cpu/vector_searcher.hpp"

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

std::unique_ptr<VectorSearcher> cuda_searcher(const SearcherFlags& /*flags*/) {
  throw std::runtime_error(
      "--engine cuda: vectors are answered by the cpu engine only so far; use --engine cpu or "
      "auto");
}

}  // namespace

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
  command.add_option("--engine", flags.engine, "What answers; auto: the fastest there is")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command.add_option("--devices", flags.devices, "Numbers of the GPUs, such as 0,1, for cuda")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(0, 1023));
  command.add_option("--threads", flags.threads, "Threads that search, for cpu; 0: one per core")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

SearcherChoice choose_searcher(const SearcherFlags& flags) {
  SearcherChoice choice;
  choice.method = method_named(flags.method);
  choice.searcher =
      flags.engine == "cuda" ? cuda_searcher(flags) : cpu::make_vector_searcher(flags.threads);
  choice.why = flags.engine == "auto" ? "the only engine of vectors so far" : "as asked";
  if (!choice.searcher->supports(choice.method))
    throw std::runtime_error("--method " + flags.method + ": the engine " +
                             std::string(choice.searcher->name()) +
                             " does not know this method; leave it out, the answer is the same");
  return choice;
}

}  // namespace starling::apps
