// FairQueue: calls that wait for a thread. Clients take turns, and the calls of one client keep
// their order, so the backlog of a client delays no other. All operations take constant time. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "io/op.h"

namespace h2server::io {

class FairQueue {
 public:
  // At most `running_max` calls of a client may have been taken and not ended. Those of client 0,
  // nobody in particular, have no such bound.
  explicit FairQueue(std::size_t running_max) noexcept : running_max_(running_max) {}

  void add(FileOp& op);
  // Takes the next call that may run, which end() must follow. Returns null if there is none.
  [[nodiscard]] FileOp* take();
  // A call of that client has ended.
  void end(std::uint64_t client);
  // Returns false if the call does not wait.
  bool remove(FileOp& op);

  // Returns true if take() would return a call.
  [[nodiscard]] bool has_next() const noexcept { return ready_.first != nullptr; }
  // Of calls that wait.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  template <class T>
  struct List {
    T* first = nullptr;
    T* last = nullptr;

    void append(T& one) noexcept {
      one.next_waiting = nullptr;
      one.previous_waiting = last;
      (last != nullptr ? last->next_waiting : first) = &one;
      last = &one;
    }
    void remove(T& one) noexcept {
      (one.previous_waiting != nullptr ? one.previous_waiting->next_waiting : first) =
          one.next_waiting;
      (one.next_waiting != nullptr ? one.next_waiting->previous_waiting : last) =
          one.previous_waiting;
    }
  };
  struct Client {
    List<FileOp> waiting;
    std::size_t running = 0;
    bool ready = false;  // in the list of those that may run a call
    Client* next_waiting = nullptr;
    Client* previous_waiting = nullptr;
  };

  // Puts the client into the list, at its end, or takes it out.
  void sort(std::uint64_t key, Client& client) noexcept;
  void forget_idle(std::uint64_t key, const Client& client);

  const std::size_t running_max_;
  std::unordered_map<std::uint64_t, Client> clients_;  // that have calls; their places are stable
  List<Client> ready_;
  std::size_t size_ = 0;
};

}  // namespace h2server::io
