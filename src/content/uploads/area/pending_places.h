// PendingPlaces: whose the unfinished resumable uploads of a directory or a store are, so that no
// client has all of them. Knows those that this process has begun. Any thread; waits for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "content/files/client_places.h"

namespace h2server::content {

class PendingPlaces {
 public:
  PendingPlaces(std::size_t all_max, std::size_t client_max)
      : places_(std::make_shared<ClientPlaces>(all_max, client_max)) {}

  // Returns null if no place is free for that client.
  [[nodiscard]] std::unique_ptr<ClientPlaces::Place> take(const std::string& client) const {
    return ClientPlaces::take(places_, client);
  }
  void keep(const std::string& id, std::unique_ptr<ClientPlaces::Place> place);
  void end(const std::string& id);
  // Empty if it is not kept here.
  [[nodiscard]] std::string client_of(const std::string& id) const;
  // The ids of those that are kept.
  [[nodiscard]] std::vector<std::string> ids() const;
  // The ids of a few that may have ended elsewhere: of the client's, and of all. The next call
  // returns others as long as there are any.
  [[nodiscard]] std::vector<std::string> next_to_check(const std::string& client, std::size_t most);

 private:
  struct Kept {
    std::unique_ptr<ClientPlaces::Place> place;
    std::uint64_t turn = 0;  // of next_to_check(): the least is next
  };

  const std::shared_ptr<ClientPlaces> places_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;  // by the upload's id
  std::uint64_t turns_ = 0;
};

}  // namespace h2server::content
