#include "gpu/vector_searcher.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/device_vectors.hpp"
#include "gpu/vector_method.hpp"
#include "gpu/vector_pack_launch.hpp"
#include "gpu/vector_rates_launch.hpp"
#include "knn/assert.hpp"

namespace starling::gpu {
namespace {

/// Left to others of what is free on the device, and to fragmentation.
constexpr std::uint64_t bytes_spared = std::uint64_t{512} << 20;
/// More workspace makes batches larger than the device needs to be busy.
constexpr std::uint64_t workspace_bytes_max = std::uint64_t{4} << 30;
/// Queries and their lists go to and fro in pieces of about so many bytes.
constexpr std::uint64_t transfer_bytes_max = std::uint64_t{256} << 20;

/// The published methods there are.
struct NamedMethod {
  SearchMethod name;
  std::unique_ptr<VectorMethod> (*make)(DeviceMemory& memory, std::uint64_t bytes_max);
};
constexpr NamedMethod named_methods[] = {
    {SearchMethod::kato, &make_kato},
    {SearchMethod::cuknn, &make_cuknn},
    {SearchMethod::iterative, &make_iterative},
    {SearchMethod::insertion, &make_insertion},
    {SearchMethod::multiselect, &make_multiselect},
    {SearchMethod::sbq, &make_sbq},
};

const NamedMethod* find_method(SearchMethod name) {
  const NamedMethod* found = std::ranges::find(named_methods, name, &NamedMethod::name);
  return found == std::end(named_methods) ? nullptr : found;
}

std::uint64_t bytes_limit(const VectorSearcherOptions& options) {
  const std::uint64_t wanted = options.memory_bytes_max;
  check(cudaSetDevice(options.device));
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return std::min<std::uint64_t>(wanted, free > bytes_spared ? free - bytes_spared : free / 2);
}

/// Both sorted; the k nearest of both into `list`.
void merge(std::span<VectorNeighbor> list, std::span<const VectorNeighbor> other,
           std::vector<VectorNeighbor>& merged) {
  merged.resize(list.size() + other.size());
  std::merge(list.begin(), list.end(), other.begin(), other.end(), merged.begin());
  std::copy_n(merged.begin(), list.size(), list.begin());
}

class CudaVectorSearcher final : public VectorSearcher {
 public:
  explicit CudaVectorSearcher(const VectorSearcherOptions& options)
      : device_(options.device),
        may_filter_(options.may_filter),
        bytes_max_(bytes_limit(options)),
        memory_(bytes_max_) {}

  std::string_view name() const override { return "cuda"; }
  bool supports(SearchMethod method) const override {
    return method == SearchMethod::automatic || find_method(method) != nullptr;
  }

  void set_corpus(Metric metric, VectorsView corpus) override {
    check(cudaSetDevice(device_));
    method_.reset();
    resident_.reset();
    workspace_.reset();
    kept_ = {};
    rows_ = 0;
    plan_memory(corpus);
    if (part_rows_ >= corpus.rows())
      resident_.emplace(memory_, metric, corpus, VectorRow{0}, shadow_, stream_);
    else
      kept_.assign(corpus.components.begin(), corpus.components.end());
    metric_ = metric;
    dimension_ = corpus.dimension;
    rows_ = corpus.rows();
    workspace_.emplace(memory_, workspace_bytes_);
  }

  double device_ms() const override { return device_ms_; }

  DeviceRates rates() override {
    check(cudaSetDevice(device_));
    return measure_rates(memory_, (bytes_max_ - memory_.bytes_used()) / 2, stream_);
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    check(cudaSetDevice(device_));
    device_ms_ = 0;
    check_search(search, dimension_, lists.size());
    check_invariant(workspace_.has_value(), "a corpus is set before it is searched");
    if (!supports(search.method))
      throw std::invalid_argument(
          "the cuda searcher does not have this method: ask for SearchMethod::automatic");
    if (search.queries.rows() == 0) return;
    if (rows_ == 0) {
      std::fill(lists.begin(), lists.end(),
                VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
      return;
    }
    if (search.method != SearchMethod::automatic) return search_by_method(search, lists);
    method_.reset();
    const auto search_corpus = [&](const DeviceVectors& vectors, const Part& part) {
      const auto search_async = [&](const DeviceSearch& on_device) {
        workspace_->search_async(vectors.view(), on_device, stream_);
      };
      search_part(search_async, search, lists, part);
    };
    if (resident_) return search_corpus(*resident_, {});
    const std::uint32_t parts = (rows_ - 1) / part_rows_ + 1;
    for (std::uint32_t part = 0; part < parts; ++part) {
      const VectorRow begin = part * part_rows_;
      const std::uint32_t count = std::min(part_rows_, rows_ - begin);
      const VectorsView rows = {std::span(kept_).subspan(std::size_t{begin} * dimension_,
                                                         std::size_t{count} * dimension_),
                                dimension_};
      const DeviceVectors corpus(memory_, metric_, rows, begin, Shadow::none, stream_);
      search_corpus(corpus, {part, parts});
    }
  }

 private:
  /// Of the corpus: its lists are merged with those of the parts before.
  struct Part {
    std::uint32_t number = 0;
    std::uint32_t count = 1;
  };

  /// A method at hand, with rows of the corpus as they came. An automatic search lets go of it.
  struct MethodAtHand {
    MethodAtHand(DeviceMemory& memory, SearchMethod wanted) : name(wanted), components(memory) {}
    SearchMethod name;
    std::unique_ptr<VectorMethod> method;
    DeviceBuffer<float> components;  ///< of part_rows at most
    std::uint32_t part_rows = 0;
    bool holds_all = false;  ///< the whole corpus, unpacked before
  };

  /// Of a query and its list, on the way.
  static std::uint64_t transfer_bytes(std::uint32_t dimension, std::uint32_t k) {
    return std::uint64_t{dimension} * sizeof(float) + std::uint64_t{k} * sizeof(VectorNeighbor);
  }

  /// How memory is shared: the corpus, or a part of it; a workspace; queries and lists.
  void plan_memory(VectorsView corpus) {
    const std::uint64_t bytes = bytes_max_;
    const std::uint64_t packing = DeviceVectors::packing_bytes_for(corpus.dimension);
    const std::uint64_t transfer_min =
        transfer_bytes(dimension_max, vector_k_max) * query_tile_rows;
    const std::uint64_t least =
        packing + transfer_min + VectorWorkspace::bytes_min(corpus.dimension);
    const std::uint64_t all =
        DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, Shadow::none);
    part_rows_ = std::max(corpus.rows(), 1u);
    std::uint64_t part_bytes = all;
    shadow_ = Shadow::none;
    for (const Shadow shadow : {Shadow::halves, Shadow::halves_and_rows}) {
      if (!may_filter_) break;
      const std::uint64_t more = DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, shadow);
      if (more + least > bytes) break;
      shadow_ = shadow;
      part_bytes = more;
    }
    if (all + least > bytes) {
      const std::uint64_t panel_bytes =
          DeviceVectors::bytes_for(panel_rows, corpus.dimension, Shadow::none);
      const std::uint64_t room = bytes > least ? (bytes - least) / 2 : 0;
      if (room < panel_bytes)
        throw std::runtime_error("the GPU has too little memory for vectors: " +
                                 std::to_string(least + 2 * panel_bytes) + " bytes are wanted, " +
                                 std::to_string(bytes) + " may be used");
      part_rows_ = static_cast<std::uint32_t>(room / panel_bytes) * panel_rows;
      part_bytes = DeviceVectors::bytes_for(part_rows_, corpus.dimension, Shadow::none);
    }
    const std::uint64_t left = bytes - part_bytes - packing;
    transfer_bytes_ = std::clamp(left / 4, transfer_min, transfer_bytes_max);
    workspace_bytes_ = std::min(left - transfer_bytes_, workspace_bytes_max);
  }

  /// Beside the panels, which stay, a method reads the rows as they came: a copy, unpacked at its
  /// first search. The memory of automatic searches is given to it meanwhile: three quarters to the
  /// rows if that is enough for all of them; else half of it to a part of them, and the rest is the
  /// method's. Where not even panels of all rows are resident, parts come from the host.
  void take_method(SearchMethod name) {
    if (method_ && method_->name == name) return;
    method_.reset();
    workspace_.emplace(memory_, workspace_bytes_);
    const std::uint64_t bytes = bytes_max_ - memory_.bytes_used() - transfer_bytes_;
    const std::uint64_t row_bytes = dimension_ * sizeof(float);
    std::uint64_t part_rows = bytes / 4 * 3 / row_bytes;
    if (part_rows < rows_) part_rows = std::max<std::uint64_t>(bytes / 2 / row_bytes, 1);
    MethodAtHand taken(memory_, name);
    taken.part_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(part_rows, rows_));
    taken.components.reserve(std::size_t{taken.part_rows} * dimension_);
    taken.method = find_method(name)->make(
        memory_, std::min(bytes - taken.part_rows * row_bytes, workspace_bytes_max));
    method_.emplace(std::move(taken));
  }

  void read_rows_async(VectorRow begin, std::uint32_t count) {
    if (method_->holds_all) return;
    if (resident_)
      unpack_async(resident_->panels(), begin, count, dimension_, method_->components.data(),
                   stream_);
    else
      copy_to_device_async(std::span<const float>(kept_).subspan(std::size_t{begin} * dimension_,
                                                                 std::size_t{count} * dimension_),
                           method_->components, stream_);
    method_->holds_all = count == rows_;
  }

  void search_by_method(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    take_method(search.method);
    const std::uint32_t part_rows = method_->part_rows;
    const std::uint32_t parts = (rows_ - 1) / part_rows + 1;
    for (std::uint32_t part = 0; part < parts; ++part) {
      RowMajorView corpus;
      corpus.first_row = part * part_rows;
      corpus.count = std::min(part_rows, rows_ - corpus.first_row);
      corpus.components = method_->components.data();
      corpus.dimension = dimension_;
      corpus.is_dot = metric_ == Metric::inner_product;
      read_rows_async(corpus.first_row, corpus.count);
      const auto search_async = [&](const DeviceSearch& on_device) {
        method_->method->search_async(corpus, on_device, stream_);
      };
      search_part(search_async, search, lists, {part, parts});
    }
  }

  template <class SearchAsync>
  void search_part(const SearchAsync& search_async, const VectorSearch& search,
                   std::span<VectorNeighbor> lists, const Part& part) {
    const bool is_merged = part.number > 0;
    const std::uint32_t count = search.queries.rows();
    const std::uint64_t query_bytes = transfer_bytes(dimension_, search.k);
    const auto piece = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(transfer_bytes_ / query_bytes, 1, count));
    DeviceBuffer<float> queries(memory_, std::size_t{piece} * dimension_);
    DeviceBuffer<VectorNeighbor> found(memory_, std::size_t{piece} * search.k);
    std::vector<VectorNeighbor> other;
    std::vector<VectorNeighbor> merged;
    if (is_merged) other.resize(std::size_t{piece} * search.k);
    const DrainAtEnd drain(stream_);
    for (std::uint32_t begin = 0; begin < count; begin += piece) {
      DeviceSearch on_device;
      on_device.queries = queries.data();
      on_device.count = std::min(piece, count - begin);
      on_device.k = search.k;
      on_device.lists = found.data();
      if (search.first_self != no_row) on_device.first_self = search.first_self + begin;
      copy_to_device_async(
          search.queries.components.subspan(std::size_t{begin} * dimension_,
                                            std::size_t{on_device.count} * dimension_),
          queries, stream_);
      started_.record(stream_);
      search_async(on_device);
      finished_.record(stream_);
      const std::span<VectorNeighbor> to =
          lists.subspan(std::size_t{begin} * search.k, std::size_t{on_device.count} * search.k);
      const std::span<VectorNeighbor> into = is_merged ? std::span(other).first(to.size()) : to;
      copy_to_host_async(static_cast<const VectorNeighbor*>(found.data()), into, stream_);
      stream_.wait();
      device_ms_ += finished_.ms_since(started_);
      if (is_merged)
        for (std::size_t at = 0; at < to.size(); at += search.k)
          merge(to.subspan(at, search.k), into.subspan(at, search.k), merged);
      if (search.on_progress) {
        const std::uint64_t done = begin + std::uint64_t{on_device.count};
        search.on_progress((std::uint64_t{count} * part.number + done) / part.count);
      }
    }
  }

  int device_;
  bool may_filter_;
  std::uint64_t bytes_max_;
  DeviceMemory memory_;
  Stream stream_;
  Event started_;
  Event finished_;
  double device_ms_ = 0;  ///< of the last search
  Metric metric_ = Metric::l2;
  std::uint32_t dimension_ = 1;
  std::uint32_t rows_ = 0;
  Shadow shadow_ = Shadow::none;  ///< of a corpus that is on the device at once
  std::uint32_t part_rows_ = 0;   ///< of the corpus, on the device at once
  std::uint64_t workspace_bytes_ = 0;
  std::uint64_t transfer_bytes_ = 0;
  std::vector<float> kept_;  ///< the corpus, where it does not fit the device
  std::optional<DeviceVectors> resident_;
  std::optional<VectorWorkspace> workspace_;
  std::optional<MethodAtHand> method_;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options) {
  return std::make_unique<CudaVectorSearcher>(options);
}

std::unique_ptr<VectorSearcher> make_vector_searcher(int device) {
  VectorSearcherOptions options;
  options.device = device;
  return make_vector_searcher(options);
}

}  // namespace starling::gpu
