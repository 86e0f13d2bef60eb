// FairQueue: calls that wait for a thread. Clients take turns; the calls of one client keep their
// order. So the queue of one client is none for others. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "io/op.h"

namespace h2server::io {

class FairQueue {
 public:
  // At most `running_max` calls of a client may have been taken and not ended.
  explicit FairQueue(std::size_t running_max) noexcept : running_max_(running_max) {}

  void add(FileOp& op) {
    Client& client = clients_[op.call.client];
    if (client.waiting.empty()) turns_.push_back(op.call.client);
    client.waiting.push_back(&op);
    ++size_;
  }

  // Takes the next call that may run, which end() must follow. Returns null if there is none.
  [[nodiscard]] FileOp* take() {
    const auto turn = next_turn();
    if (turn == turns_.end()) return nullptr;
    const std::uint64_t key = *turn;
    turns_.erase(turn);
    Client& client = clients_[key];
    FileOp* const op = client.waiting.front();
    client.waiting.pop_front();
    ++client.running;
    --size_;
    if (!client.waiting.empty()) turns_.push_back(key);
    return op;
  }
  [[nodiscard]] bool has_next() const { return next_turn() != turns_.end(); }

  // A call of that client has ended.
  void end(std::uint64_t key) {
    const auto client = clients_.find(key);
    if (--client->second.running == 0 && client->second.waiting.empty()) clients_.erase(client);
  }

  // Returns false if the call does not wait.
  bool remove(FileOp& op) {
    const auto client = clients_.find(op.call.client);
    if (client == clients_.end() || std::erase(client->second.waiting, &op) == 0) return false;
    --size_;
    if (client->second.waiting.empty()) {
      std::erase(turns_, op.call.client);
      if (client->second.running == 0) clients_.erase(client);
    }
    return true;
  }

  // Of calls that wait.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  struct Client {
    std::deque<FileOp*> waiting;
    std::size_t running = 0;
  };

  // Calls for nobody in particular, such as those of the server itself, have no bound of their own.
  [[nodiscard]] std::deque<std::uint64_t>::const_iterator next_turn() const {
    return std::ranges::find_if(turns_, [this](std::uint64_t key) {
      return key == 0 || clients_.at(key).running < running_max_;
    });
  }

  const std::size_t running_max_;
  std::unordered_map<std::uint64_t, Client> clients_;
  std::deque<std::uint64_t> turns_;  // of clients with calls that wait
  std::size_t size_ = 0;
};

}  // namespace h2server::io
