// UringSubmissions: the entries that go to the kernel through an io_uring, in order.
//
// The kernel may refuse entries (EAGAIN: it is short of memory; EBUSY: too many completions wait).
// They are then held back here until completions have been handled: a caller that adds an entry
// can't handle them and must not wait.
#pragma once

#include <deque>

struct io_uring;
struct io_uring_sqe;

namespace h2server::io {

class UringSubmissions {
 public:
  UringSubmissions();
  ~UringSubmissions();

  // Returns an entry, which the caller must fill in before the next call.
  [[nodiscard]] io_uring_sqe& next(io_uring& ring);
  // Submits all entries and waits for a completion, for at most `ms` (-1: no limit).
  void enter(io_uring& ring, int ms);
  // Returns true if entries are held back; enter() is then due again.
  [[nodiscard]] bool held_back() const noexcept { return !held_back_.empty(); }

 private:
  void queue_held_back(io_uring& ring);

  std::deque<io_uring_sqe> held_back_;
};

}  // namespace h2server::io
