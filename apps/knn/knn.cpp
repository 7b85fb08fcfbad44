// The flags of `starling knn`: see knn.hpp.
#include "apps/knn/knn.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/knn/knn_run.hpp"
#include "apps/shared/own_input.hpp"
#include "sim/traces/trace.hpp"

namespace starling::apps {
namespace {

struct KnnFlags : KnnPlan {
  std::string metric_name = "l2";
  bool graph = false;
};

constexpr const char* examples =
    "Rows are numbered from 0; what is read, written and refused: docs/vectors.md.\n"
    "\n"
    "Ten nearest of each query, as NumPy arrays:\n"
    "  starling knn --points base.fvecs --queries query.fvecs -k 10 \\\n"
    "      --out-ids ids.npy --out-distances distances.npy\n"
    "The graph of all points by correlation, as a table:\n"
    "  starling knn --points genes.csv --graph -k 8 --metric pearson --out graph.csv\n"
    "Classes of new images, from those of known ones:\n"
    "  starling knn --points known.npy --labels classes.npy --queries new.npy -k 7 \\\n"
    "      --vote --out classes.csv";

void add_input_flags(CLI::App& command, KnnFlags& flags) {
  command
      .add_option("--points", flags.points,
                  "The vectors among which neighbours are sought: .npy, .fvecs, .bvecs, .ivecs or "
                  ".csv[.gz|.zst]")
      ->required();
  command.add_option("--queries", flags.queries, "The vectors whose neighbours are sought");
  command.add_flag("--graph", flags.graph,
                   "Seek every point's neighbours among the others, instead of queries': the k-NN "
                   "graph");
  command.add_option("--labels", flags.labels,
                     "A class for each point, an integer: .npy, .ivecs or .csv[.gz|.zst]");
  command.add_option("-k,--k", flags.k, "Neighbours of a query")
      ->check(CLI::Range(std::uint32_t{1}, vector_k_max))
      ->capture_default_str();
  command.add_option("--metric", flags.metric_name, "What makes vectors near")
      ->check(CLI::IsMember({"l2", "cosine", "pearson", "hellinger", "inner-product"}))
      ->capture_default_str();
}

void add_output_flags(CLI::App& command, KnnFlags& flags) {
  command.add_option("--out", flags.out,
                     "Write query_id,rank,object_id,distance to this CSV file[.gz|.zst]; - is "
                     "stdout");
  command.add_flag("--vote", flags.out_holds_votes,
                   "Write query_id,label there instead: the label that most neighbours have; of "
                   "several the nearest by summed distance, then the smallest");
  command.add_option("--out-ids", flags.out_ids,
                     "Write the neighbours' row numbers, a row a query: .npy of int64 or .ivecs");
  command.add_option("--out-distances", flags.out_distances,
                     "Write their distances: .npy of float64 or .fvecs");
  command.add_option("--out-votes", flags.out_votes, "Write the votes: .npy of int64, or .csv");
}

/// Where a file stands, whatever it is called.
std::filesystem::path place_of(const std::string& name) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(name));
}

void check_outputs(const KnnPlan& plan) {
  std::set<std::filesystem::path> names;
  for (const std::string* name : {&plan.out, &plan.out_ids, &plan.out_distances, &plan.out_votes})
    if (!name->empty() && !names.insert(place_of(*name)).second)
      throw sim::UsageError(*name + ": two results cannot be written to one file");
  const std::vector<std::string> inputs{plan.points, plan.queries, plan.labels};
  refuse_own_input({"--out", plan.out, "run"}, inputs);
  refuse_own_input({"--out-ids", plan.out_ids, "run"}, inputs);
  refuse_own_input({"--out-distances", plan.out_distances, "run"}, inputs);
  refuse_own_input({"--out-votes", plan.out_votes, "run"}, inputs);
  if (names.empty())
    throw sim::UsageError(
        "nothing is to be written: add --out, --out-ids, --out-distances or --out-votes");
  for (const char* ending : {".npy", ".ivecs", ".fvecs"})
    if (plan.out.ends_with(ending))
      throw sim::UsageError("--out: " + plan.out +
                            ": this is written as CSV; --out-ids, --out-distances and --out-votes "
                            "write arrays");
}

KnnPlan plan_knn(const KnnFlags& flags) {
  KnnPlan plan = flags;
  plan.metric = *metric_named(flags.metric_name);
  if (plan.queries.empty() && !flags.graph)
    throw sim::UsageError("whose neighbours? Add --queries FILE, or --graph for all points'");
  // Not by CLI11, for which --graph=false is there as well.
  if (!plan.queries.empty() && flags.graph)
    throw sim::UsageError("--graph excludes --queries: all points are asked for, or these");
  check_outputs(plan);
  if (plan.out_holds_votes && plan.out.empty())
    throw sim::UsageError("--vote: say with --out where the votes go, or use --out-votes");
  const bool votes = plan.out_holds_votes || !plan.out_votes.empty();
  if (votes && plan.labels.empty())
    throw sim::UsageError("votes need a label for each point: add --labels FILE");
  if (!votes && !plan.labels.empty())
    throw sim::UsageError("--labels: nothing votes; add --vote or --out-votes FILE");
  return plan;
}

}  // namespace

std::function<int()> add_knn(CLI::App& program) {
  auto flags = std::make_shared<KnnFlags>();
  CLI::App* const command = program.add_subcommand(
      "knn", "Exact nearest vectors in batch, k-NN graphs and votes over files");
  add_input_flags(*command, *flags);
  add_searcher_choice(*command, flags->searcher);
  add_output_flags(*command, *flags);
  command->footer(examples);
  return [flags] {
    try {
      run_knn(plan_knn(*flags));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
