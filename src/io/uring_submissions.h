// What goes to the kernel through an io_uring, in the order in which it was asked for.
//
// The kernel may refuse to take more (EAGAIN: it is short of memory; EBUSY: too many completions
// wait). Then entries are held back here until completions have been dealt with: who adds one can't
// do that, and must not wait.
#pragma once

#include <deque>

struct io_uring;
struct io_uring_sqe;

namespace h2server::io {

class UringSubmissions {
 public:
  UringSubmissions();
  ~UringSubmissions();

  // An entry to be filled in at once.
  [[nodiscard]] io_uring_sqe& next(io_uring& ring);
  // Submits what there is and waits for a completion, for at most `ms` (-1: no limit).
  void enter(io_uring& ring, int ms);
  // Returns true if some are held back; enter() is due again then.
  [[nodiscard]] bool held_back() const noexcept { return !held_back_.empty(); }

 private:
  void queue_held_back(io_uring& ring);

  std::deque<io_uring_sqe> held_back_;
};

}  // namespace h2server::io
