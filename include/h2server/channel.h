// Channel<T>: a bounded queue between tasks, also of different workers.
#pragma once

#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "h2server/delivery.h"
#include "h2server/result.h"

#pragma GCC visibility push(default)
namespace h2server {

// Values arrive in the order in which they were sent. Thread-safe; must outlive its waits.
template <class T>
class Channel {
  class Wait;
  class Sending;
  class Receiving;

 public:
  // `size_max` is at least 1: how many values may wait.
  explicit Channel(std::size_t size_max) : size_max_(size_max) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // co_await send(value) waits for room and yields Result<void>. Fails with EPIPE if the channel is
  // closed, and with ECANCELED if the task is to stop; the value is lost then.
  [[nodiscard]] auto send(T value) { return Sending(*this, std::move(value)); }
  // co_await receive() waits for a value and yields Result<T>. Fails with EPIPE if the channel is
  // closed and empty, and with ECANCELED if the task is to stop.
  [[nodiscard]] auto receive() { return Receiving(*this); }

  // Returns false, and leaves the value alone, if there is no room or the channel is closed. Any
  // thread, also one that runs no handler.
  bool try_send(T&& value) {
    const std::lock_guard lock(mutex_);
    return !closed_ && take(value);
  }
  // Ends all waits of senders, and those of receivers once the values are used up. Any thread.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Wait* const sending : senders_) sending->complete();
    for (Wait* const receiving : receivers_) receiving->complete();
    senders_.clear();
    receivers_.clear();
  }

 private:
  // Gives the value to a waiting receiver or keeps it. Returns false if there is no room.
  bool take(T& value) {
    if (!receivers_.empty()) {
      Receiving* const receiving = static_cast<Receiving*>(receivers_.front());
      receivers_.pop_front();
      receiving->value_.emplace(std::move(value));
      receiving->complete();
      return true;
    }
    if (values_.size() >= size_max_) return false;
    values_.push_back(std::move(value));
    return true;
  }
  // Moves the next value to `place`, and that of a waiting sender into its room.
  bool give(std::optional<T>& place) {
    if (values_.empty()) return false;
    place.emplace(std::move(values_.front()));
    values_.pop_front();
    if (!senders_.empty()) {
      Sending* const sending = static_cast<Sending*>(senders_.front());
      senders_.pop_front();
      values_.push_back(std::move(sending->value_));
      sending->sent_ = true;
      sending->complete();
    }
    return true;
  }

  std::mutex mutex_;
  const std::size_t size_max_;
  std::deque<T> values_;
  std::list<Wait*> senders_;    // Sending; they wait for room
  std::list<Wait*> receivers_;  // Receiving; they wait for a value
  bool closed_ = false;
};

// A task that waits in one of the lists.
template <class T>
class Channel<T>::Wait : public coro::RemoteWait {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    if (stops(waiter)) {
      error_ = ECANCELED;
      return false;
    }
    const std::lock_guard lock(channel_.mutex_);
    if (attempt() || channel_.closed_) return false;
    list_.push_back(this);
    suspend(waiter);
    return true;
  }

 protected:
  Wait(Channel& channel, std::list<Wait*>& list) : channel_(channel), list_(list) {}

  [[nodiscard]] Error error() const noexcept {
    return {cancelled() ? ECANCELED : error_, "channel"};
  }

  Channel& channel_;

 private:
  // Returns true if it need not wait. Called with the lock held.
  virtual bool attempt() = 0;
  bool withdraw() noexcept override {
    const std::lock_guard lock(channel_.mutex_);
    return std::erase(list_, this) > 0;
  }

  std::list<Wait*>& list_;
  int error_ = EPIPE;
};

template <class T>
class Channel<T>::Sending final : public Wait {
 public:
  Sending(Channel& channel, T value) : Wait(channel, channel.senders_), value_(std::move(value)) {}

  Result<void> await_resume() const {
    if (sent_) return {};
    return std::unexpected(this->error());
  }

 private:
  friend class Channel;
  bool attempt() override {
    sent_ = !this->channel_.closed_ && this->channel_.take(value_);
    return sent_;
  }

  T value_;
  bool sent_ = false;
};

template <class T>
class Channel<T>::Receiving final : public Wait {
 public:
  explicit Receiving(Channel& channel) : Wait(channel, channel.receivers_) {}

  Result<T> await_resume() {
    if (value_) return *std::move(value_);
    return std::unexpected(this->error());
  }

 private:
  friend class Channel;
  bool attempt() override { return this->channel_.give(value_); }

  std::optional<T> value_;
};

}  // namespace h2server
#pragma GCC visibility pop
