#include "cpu/vector_searcher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace starling::cpu {
namespace {

class BruteForce : public VectorSearcher {
 public:
  std::string_view name() const override { return "cpu"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }

  void set_corpus(Metric metric, VectorsView corpus) override {
    metric_ = metric;
    components_.assign(corpus.components.begin(), corpus.components.end());
    corpus_ = {components_, corpus.dimension};
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    for (VectorRow query = 0; query < search.queries.rows(); ++query) {
      candidates_.clear();
      for (VectorRow row = 0; row < corpus_.rows(); ++row)
        if (search.first_self == no_row || row != search.first_self + query)
          candidates_.push_back({score(search.queries.row(query), corpus_.row(row)), row});
      const auto list = lists.subspan(std::size_t{query} * search.k, search.k);
      const std::size_t found = std::min<std::size_t>(search.k, candidates_.size());
      std::ranges::partial_sort_copy(candidates_, list.first(found));
      std::ranges::fill(list.subspan(found),
                        VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
      if (search.on_progress) search.on_progress(query + 1);
    }
  }

 private:
  float score(std::span<const float> x, std::span<const float> y) const {
    const bool is_inner = metric_ == Metric::inner_product;
    float sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const float difference = x[j] - y[j];
      sum = is_inner ? std::fma(x[j], y[j], sum) : std::fma(difference, difference, sum);
    }
    return is_inner ? 0.0f - sum : sum;
  }

  Metric metric_ = Metric::l2;
  std::vector<float> components_;
  VectorsView corpus_;
  std::vector<VectorNeighbor> candidates_;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned /*threads*/) {
  return std::make_unique<BruteForce>();
}

}  // namespace starling::cpu
