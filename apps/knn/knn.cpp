// SPDX-License-Identifier: Apache-2.0
// Adds and checks the flags of `starling knn`: see knn.hpp.
#include "starling/apps/knn/knn.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/apps/knn/knn_run.hpp"
#include "starling/apps/shared/config_file.hpp"
#include "starling/apps/shared/own_input.hpp"
#include "starling/apps/shared/space_flags.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

struct KnnFlags : KnnPlan {
  bool names_k = false;       ///< the command line has -k
  bool names_radius = false;  ///< the command line has --radius
  std::string metric_name = "l2";
  std::string weights_name;
  bool graph = false;
};

constexpr const char* examples =
    "Rows are numbered from 0. docs/vectors.md says which files are read, written and refused.\n"
    "\n"
    "The ten nearest points of each query, as NumPy arrays:\n"
    "  starling knn --points base.fvecs --queries query.fvecs -k 10 \\\n"
    "      --out-ids ids.npy --out-distances distances.npy\n"
    "All points within 0.2 of each query, however many:\n"
    "  starling knn --points base.fvecs --queries query.fvecs --radius 0.2 --out near.csv\n"
    "The k-NN graph of all points by correlation, as a table:\n"
    "  starling knn --points genes.csv --graph -k 8 --metric pearson --out graph.csv\n"
    "The classes of new images, from the classes of known ones:\n"
    "  starling knn --points known.npy --labels classes.npy --queries new.npy -k 7 \\\n"
    "      --vote --out classes.csv\n"
    "The prices of new houses, from those of the ten most like them:\n"
    "  starling knn --points known.csv --values prices.csv --queries new.csv \\\n"
    "      --regress distance --out prices_of_new.csv";

void add_input_flags(CLI::App& command, KnnFlags& flags) {
  command
      .add_option("--points", flags.points,
                  "The vectors to search: .npy, .fvecs, .bvecs, .ivecs or .csv[.gz|.zst]. Numbers "
                  "of float64 and of text are rounded to float32; a warning says if rows become "
                  "equal")
      ->required();
  command.add_option("--queries", flags.queries,
                     "The vectors whose nearest points are wanted, in one of the same formats");
  command.add_flag("--graph", flags.graph,
                   "Find the nearest other points of every point, instead of --queries: the k-NN "
                   "graph");
  command.add_option("--labels", flags.labels,
                     "One integer for each point, its class: .npy, .ivecs or .csv[.gz|.zst]");
  command.add_option("--values", flags.values,
                     "One number for each point, whose mean is wanted: .npy or .csv[.gz|.zst]");
  command.add_option("-k,--k", flags.k, "The number of neighbours of each query")
      ->check(CLI::Range(std::uint32_t{1}, vector_k_max))
      ->capture_default_str();
  command.add_option("--radius", flags.radius,
                     "Find all points whose distance is at most this finite number, instead of k "
                     "points. The lists go to --out. The cpu engine answers");
  command.add_option("--metric", flags.metric_name, "The metric that ranks neighbours")
      ->check(CLI::IsMember(metric_names()))
      ->capture_default_str();
}

void add_output_flags(CLI::App& command, KnnFlags& flags) {
  command.add_option("--out", flags.out,
                     "Write query_id,rank,object_id,distance to this CSV file[.gz|.zst]; - is the "
                     "standard output");
  command.add_flag(
      "--vote", flags.out_holds_votes,
      "Let --out write query_id,label instead: the label that most neighbours have. Ties go to the "
      "smaller sum of distances, then to the smaller label");
  command
      .add_option("--regress", flags.weights_name,
                  "Without --out-values, let --out write query_id,value instead: the mean of the "
                  "neighbours' values. "
                  "uniform: all count the same; distance: each counts by 1 / its distance, and "
                  "those at distance 0, if there are any, count alone")
      ->check(CLI::IsMember({"uniform", "distance"}));
  command.add_option("--out-ids", flags.out_ids,
                     "Write the row numbers of the neighbours, one row per query: .npy of int64 or "
                     ".ivecs");
  command.add_option("--out-distances", flags.out_distances,
                     "Write the distances of the neighbours: .npy of float64 or .fvecs");
  command.add_option("--out-votes", flags.out_votes,
                     "Write the label of each query: .npy of int64 or .csv[.gz|.zst]");
  command.add_option("--out-values", flags.out_values,
                     "Write the value of each query: .npy of float64 or .csv[.gz|.zst]");
}

/// Returns the same path for every name of one file.
std::filesystem::path place_of(const std::string& name) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(name));
}

void check_outputs(const KnnPlan& plan) {
  std::set<std::filesystem::path> names;
  for (const std::string* name :
       {&plan.out, &plan.out_ids, &plan.out_distances, &plan.out_votes, &plan.out_values})
    if (!name->empty() && !names.insert(place_of(*name)).second)
      throw sim::UsageError(*name + ": two results cannot be written to one file");
  const std::vector<std::string> inputs{plan.points, plan.queries, plan.labels, plan.values};
  refuse_own_input({"--out", plan.out, "run"}, inputs);
  refuse_own_input({"--out-ids", plan.out_ids, "run"}, inputs);
  refuse_own_input({"--out-distances", plan.out_distances, "run"}, inputs);
  refuse_own_input({"--out-votes", plan.out_votes, "run"}, inputs);
  refuse_own_input({"--out-values", plan.out_values, "run"}, inputs);
  if (names.empty())
    throw sim::UsageError(
        plan.radius ? "no output is named: add --out FILE"
                    : "no output is named: add --out, --out-ids, --out-distances, --out-votes or "
                      "--out-values");
  for (const char* ending : {".npy", ".ivecs", ".fvecs"})
    if (plan.out.ends_with(ending))
      throw sim::UsageError("--out: " + plan.out +
                            ": --out writes CSV; --out-ids, --out-distances, --out-votes and "
                            "--out-values write arrays");
}

void plan_votes(const KnnPlan& plan) {
  if (plan.out_holds_votes && plan.out.empty())
    throw sim::UsageError("--vote: add --out FILE for the labels, or use --out-votes instead");
  const bool votes = plan.out_holds_votes || !plan.out_votes.empty();
  if (votes && plan.labels.empty())
    throw sim::UsageError("votes need a label for each point: add --labels FILE");
  if (!votes && !plan.labels.empty())
    throw sim::UsageError("--labels: no output needs them; add --vote or --out-votes FILE");
}

void plan_regression(const KnnFlags& flags, KnnPlan& plan) {
  if (flags.weights_name.empty()) {
    if (!plan.out_values.empty())
      throw sim::UsageError("--out-values: add --regress uniform or --regress distance");
    if (!plan.values.empty())
      throw sim::UsageError("--values: no output needs them; add --regress uniform or distance");
    return;
  }
  plan.regression =
      flags.weights_name == "distance" ? RegressionWeights::distance : RegressionWeights::uniform;
  if (plan.values.empty())
    throw sim::UsageError("--regress needs a number for each point: add --values FILE");
  if (plan.regression == RegressionWeights::distance && plan.metric == Metric::inner_product)
    throw sim::UsageError(
        "--regress distance: an inner product may be negative, so it is no weight; use --regress "
        "uniform or another --metric");
  plan.out_holds_values = plan.out_values.empty();
  if (plan.out_holds_values && plan.out.empty())
    throw sim::UsageError("--regress: add --out FILE or --out-values FILE for the values");
  if (plan.out_holds_values && plan.out_holds_votes)
    throw sim::UsageError(
        "--out writes votes or values, not both: use --out-votes or --out-values for one of them");
}

/// Checks --radius. -k on the command line overrides a radius from the environment or the file.
/// Lists within a radius differ in length, so no array can hold them. The cuda engine cannot search
/// by radius.
void plan_radius(const KnnFlags& flags, KnnPlan& plan) {
  if (flags.names_k && !flags.names_radius) plan.radius.reset();
  if (!plan.radius) return;
  if (flags.names_k)
    throw sim::UsageError(
        "--radius and -k do not go together: a list has all points within the radius, or k");
  if (*plan.radius < 0 && plan.metric != Metric::inner_product)
    throw sim::UsageError("--radius: a distance by " + flags.metric_name +
                          " is at least 0; give such a number");
  for (const std::string* name :
       {&plan.out_ids, &plan.out_distances, &plan.out_votes, &plan.out_values})
    if (!name->empty())
      throw sim::UsageError(*name +
                            ": --radius writes CSV alone; use --out FILE, with --vote or "
                            "--regress for labels or values");
  if (plan.searcher.engine == "cuda" || !plan.searcher.devices.empty())
    throw sim::UsageError(
        "--radius: the cuda engine has no search by radius; leave --engine and --devices out, the "
        "answer is the same");
  plan.searcher.engine = "cpu";
}

KnnPlan plan_knn(const KnnFlags& flags) {
  KnnPlan plan = flags;
  plan.metric = *metric_named(flags.metric_name);
  if (plan.queries.empty() && !flags.graph)
    throw sim::UsageError(
        "nothing is asked: add --queries FILE, or --graph for the neighbours of all points");
  // CLI11's excludes() could make this check, but would also refuse --graph=false.
  if (!plan.queries.empty() && flags.graph)
    throw sim::UsageError(
        "--graph and --queries do not go together: the queries are all points, or those of a file");
  plan_radius(flags, plan);
  check_outputs(plan);
  plan_votes(plan);
  plan_regression(flags, plan);
  return plan;
}

}  // namespace

std::function<int()> add_knn(CLI::App& program) {
  auto flags = std::make_shared<KnnFlags>();
  CLI::App* const command = program.add_subcommand(
      "knn",
      "Find the exact nearest vectors of files, k-NN graphs, labels by vote and values by mean");
  add_input_flags(*command, *flags);
  add_method_flag(*command, flags->searcher);
  add_searcher_flags(*command, flags->searcher);
  add_simd_flag(*command, flags->searcher);
  add_output_flags(*command, *flags);
  command->footer(examples);
  return [flags, &program, command] {
    const auto names = [&](const char* name) {
      const CLI::Option& option = *command->get_option(name);
      return source_of(program, *command, option, option.results()) == "command line";
    };
    flags->names_k = names("--k");
    flags->names_radius = names("--radius");
    try {
      run_knn(plan_knn(*flags));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
