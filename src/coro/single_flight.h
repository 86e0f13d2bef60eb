// SingleFlight: of several requests for one thing, one does the work, and those that come meanwhile
// take its outcome. When that one is given up, those that wait decide anew.
//
// Any thread. The owner's mutex guards it, under which the owner also finds out whether the work
// is needed at all: so nobody begins what another has just finished.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "h2server/completion.h"

namespace h2server::coro {

template <class Outcome>
class SingleFlight {
  struct Flight {
    std::int64_t began_ms;
    std::vector<Completer<Outcome>> waiting = {};
  };

 public:
  // `mutex` is the owner's; it must outlive this object.
  explicit SingleFlight(std::mutex& mutex) noexcept : mutex_(mutex) {}
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  // A request's turn to do the work. Its end, which takes the mutex, gives the outcome to those
  // that wait; without one their waits fail with EPIPE.
  class Turn {
   public:
    Turn(SingleFlight& flights, std::string key, std::shared_ptr<Flight> flight) noexcept
        : flights_(flights), key_(std::move(key)), flight_(std::move(flight)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      std::vector<Completer<Outcome>> waiting;
      {
        const std::lock_guard lock(flights_.mutex_);
        const auto found = flights_.flights_.find(key_);
        const bool is_last = found != flights_.flights_.end() && found->second == flight_;
        if (is_last) flights_.flights_.erase(found);
        waiting.swap(flight_->waiting);
      }
      if (!outcome) return;
      for (const Completer<Outcome>& one : waiting) one(*outcome);
    }

    [[nodiscard]] std::int64_t began_ms() const noexcept { return flight_->began_ms; }

    std::optional<Outcome> outcome;

   private:
    SingleFlight& flights_;
    const std::string key_;
    const std::shared_ptr<Flight> flight_;
  };

  // What a request is to do: its turn, or a wait for another's.
  struct Part {
    std::optional<Turn> turn = {};
    std::optional<Completion<Outcome>> others = {};
  };

  // With the mutex held. Returns true if another has the turn, and has had it for less than
  // `share_ms`: what began before may have missed what has changed since.
  [[nodiscard]] bool in_flight(
      std::string_view key, std::int64_t now_ms,
      std::int64_t share_ms = std::numeric_limits<std::int64_t>::max()) const {
    const auto found = flights_.find(key);
    return found != flights_.end() && now_ms - found->second->began_ms < share_ms;
  }
  // With the mutex held. Takes the turn.
  void begin(const std::string& key, std::int64_t now_ms, Part& part) {
    ASSERT(!part.turn && !part.others);
    auto flight = std::make_shared<Flight>(Flight{.began_ms = now_ms});
    part.turn.emplace(*this, key, flight);
    flights_.insert_or_assign(key, std::move(flight));
  }
  // With the mutex held. Waits for the one that is in flight.
  void wait(std::string_view key, Part& part) {
    flights_.find(key)->second->waiting.push_back(part.others.emplace().completer());
  }

 private:
  std::mutex& mutex_;
  std::map<std::string, std::shared_ptr<Flight>, std::less<>> flights_;  // the last of each key
};

}  // namespace h2server::coro
