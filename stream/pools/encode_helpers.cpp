// SPDX-License-Identifier: Apache-2.0
// The caller and its helpers take pieces from a shared counter: see encode_helpers.hpp.
#include "starling/stream/pools/encode_helpers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace starling::stream {

namespace asio = boost::asio;

namespace {

/// The pieces of one call of run(). A helper may wake only after run() has returned, when `work`
/// may be destroyed. Such a helper finds no piece left and does not use `work`.
struct Pieces {
  Pieces(std::size_t the_count, const std::function<void(std::size_t)>& the_work)
      : count(the_count), work(the_work) {}

  void take_all() {
    for (std::size_t piece = next++; piece < count; piece = next++) {
      try {
        work(piece);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
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
  std::atomic<bool> failed{false};
  /// The error of the first piece that failed; read when all pieces are done.
  std::exception_ptr error;
};

}  // namespace

EncodeHelpers::EncodeHelpers(unsigned thread_count)
    : thread_count_(thread_count),
      threads_(thread_count > 0 ? std::make_unique<asio::thread_pool>(thread_count) : nullptr) {}

EncodeHelpers::~EncodeHelpers() {
  if (threads_) threads_->join();
}

void EncodeHelpers::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  const auto pieces = std::make_shared<Pieces>(count, work);
  const std::size_t helping = std::min<std::size_t>(count, thread_count_ + 1);
  try {
    for (std::size_t i = 1; i < helping; ++i)
      asio::post(*threads_, [pieces] { pieces->take_all(); });
  } catch (const std::bad_alloc&) {
    // Memory is too short to wake all helpers. Fewer helpers then share the work.
  }
  pieces->take_all();
  pieces->wait();
  if (pieces->error) std::rethrow_exception(pieces->error);
}

}  // namespace starling::stream
