#include "io/uring_submissions.h"

#include <liburing.h>

#include <cerrno>

#include "base/assert.h"

namespace h2server::io {

namespace {

constexpr int refused_pause_ms = 10;  // before the kernel is asked again

// Returns null if the queue is full and the kernel takes none of its entries.
io_uring_sqe* free_entry(io_uring& ring) {
  if (io_uring_sqe* const entry = ::io_uring_get_sqe(&ring)) return entry;
  ::io_uring_submit(&ring);  // enter() will see the same error
  return ::io_uring_get_sqe(&ring);
}

__kernel_timespec time_of(int ms) {
  return {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000};
}

}  // namespace

UringSubmissions::UringSubmissions() = default;
UringSubmissions::~UringSubmissions() = default;

io_uring_sqe& UringSubmissions::next(io_uring& ring) {
  if (held_back_.empty()) [[likely]] {
    if (io_uring_sqe* const entry = free_entry(ring)) return *entry;
  }
  return held_back_.emplace_back();
}

// Keeps the order, because a cancellation must follow what it cancels.
void UringSubmissions::queue_held_back(io_uring& ring) {
  while (!held_back_.empty()) {
    io_uring_sqe* const entry = free_entry(ring);
    if (entry == nullptr) return;
    *entry = held_back_.front();
    held_back_.pop_front();
  }
}

void UringSubmissions::enter(io_uring& ring, int ms) {
  queue_held_back(ring);
  if (!held_back_.empty() && (ms < 0 || ms > refused_pause_ms)) ms = refused_pause_ms;
  io_uring_cqe* first = nullptr;
  int error;
  if (ms == 0) {
    error = ::io_uring_submit_and_get_events(&ring);
  } else {
    __kernel_timespec limit = time_of(ms);
    error =
        ::io_uring_submit_and_wait_timeout(&ring, &first, 1, ms < 0 ? nullptr : &limit, nullptr);
  }
  if (error == -EAGAIN || error == -EBUSY) {
    // The kernel has taken nothing and has not waited. Handles its completions first; if there are
    // none, retries after a pause.
    __kernel_timespec pause = time_of(refused_pause_ms);
    error = ::io_uring_wait_cqe_timeout(&ring, &first, &pause);
  }
  ASSERT(error >= 0 || error == -ETIME || error == -EINTR || error == -EAGAIN || error == -EBUSY);
}

}  // namespace h2server::io
