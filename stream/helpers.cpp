// Pieces are taken from a counter that the caller and its helpers share: see helpers.hpp.
#include "stream/helpers.hpp"

#include <algorithm>
#include <atomic>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace starling::stream {

namespace asio = boost::asio;

namespace {

/// One run's. A helper that wakes when it is over finds no piece left, and looks at `work` no more.
struct Pieces {
  Pieces(std::size_t the_count, const std::function<void(std::size_t)>& the_work)
      : count(the_count), work(the_work) {}

  void take_all() {
    for (std::size_t piece = next++; piece < count; piece = next++) {
      work(piece);
      if (++done == count) done.notify_one();
    }
  }
  void wait() const {
    for (std::size_t so_far = done; so_far < count; so_far = done) done.wait(so_far);
  }

  const std::size_t count;
  const std::function<void(std::size_t)>& work;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
};

}  // namespace

Helpers::Helpers(unsigned thread_count)
    : thread_count_(thread_count),
      threads_(thread_count > 0 ? std::make_unique<asio::thread_pool>(thread_count) : nullptr) {}

Helpers::~Helpers() {
  if (threads_) threads_->join();
}

void Helpers::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  const auto pieces = std::make_shared<Pieces>(count, work);
  for (std::size_t i = 1; i < std::min<std::size_t>(count, thread_count_ + 1); ++i)
    asio::post(*threads_, [pieces] { pieces->take_all(); });
  pieces->take_all();
  pieces->wait();
}

}  // namespace starling::stream
