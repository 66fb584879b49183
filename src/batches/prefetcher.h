// Work ahead: items are made one after the other on a thread of its own, into a queue bounded in
// number and in bytes.
//
// Destroying the prefetcher ends the thread, after the item in the making. An error, and the end,
// stay: later calls get them again. Not here: what an item is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/error.h"

namespace headwater {

struct PrefetchLimits {
  int64_t items = 4;
  int64_t bytes = int64_t{1} << 30;  // one item is taken in any case
};

// `Item` has byte_size().
template <class Item>
class Prefetcher {
 public:
  using Make = std::function<Result<std::optional<Item>>()>;  // no item: the end

  // `make` is called by the thread alone; what it uses must outlive the prefetcher.
  Prefetcher(PrefetchLimits limits, Make make)
      : limits_(limits), make_(std::move(make)), thread_([this] { run(); }) {}
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  Result<std::optional<Item>> next() {
    std::unique_lock lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return !queue_.empty() || ended_; });
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    wait_seconds_ += waited.count();
    if (queue_.empty() && error_) return tl::unexpected<Error>(*error_);
    if (queue_.empty()) return std::optional<Item>();
    std::optional<Item> item(std::move(queue_.front()));
    queue_.pop_front();
    queued_bytes_ -= item->byte_size();
    lock.unlock();
    changed_.notify_all();
    return item;
  }

  // That next() waited so far.
  double wait_seconds() const {
    const std::lock_guard lock(mutex_);
    return wait_seconds_;
  }

 private:
  void run() {
    while (true) {
      auto item = make_safely();
      std::unique_lock lock(mutex_);
      const bool last = !item || !*item;
      const int64_t bytes = last ? 0 : (*item)->byte_size();
      changed_.wait(lock, [&] {
        return stopping_ || queue_.empty() ||
               (static_cast<int64_t>(queue_.size()) < limits_.items &&
                queued_bytes_ + bytes <= limits_.bytes);
      });
      if (stopping_) return;
      if (!item) error_ = std::move(item).error();
      else if (*item) queue_.push_back(**std::move(item));
      queued_bytes_ += bytes;
      ended_ = last;
      lock.unlock();
      changed_.notify_all();
      if (last) return;
    }
  }

  Result<std::optional<Item>> make_safely() {
    try {
      return make_();
    } catch (const std::bad_alloc&) {
      return fail_hint(Code::kResourceExhausted, "use a smaller batch or shuffle buffer",
                       "out of memory in the input pipeline");
    }
  }

  const PrefetchLimits limits_;
  const Make make_;
  mutable std::mutex mutex_;  // over what follows
  std::condition_variable changed_;
  std::deque<Item> queue_;
  int64_t queued_bytes_ = 0;
  std::optional<Error> error_;
  bool ended_ = false, stopping_ = false;
  double wait_seconds_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace headwater
