// ClientPlaces: how many of something there may be at once, of all clients and of one, so that no
// client gets all. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "h2server/request.h"

namespace h2server::content {

// Whose share a request's is: its client's network. Clients of Unix sockets have none, and those
// that have reset their connection share one.
[[nodiscard]] std::string share_of(const Request& request);

class ClientPlaces {
 public:
  ClientPlaces(std::size_t all_max, std::size_t client_max) noexcept
      : all_max_(all_max), client_max_(client_max) {}

  // Belongs to its owner until it is destroyed.
  class Place {
   public:
    Place(std::shared_ptr<ClientPlaces> places, std::string client);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    [[nodiscard]] const std::string& client() const noexcept { return client_; }

   private:
    const std::shared_ptr<ClientPlaces> places_;
    const std::string client_;
  };

  // Returns null if no place is free for that client, which is a name of its network; all that have
  // none share those of all.
  static std::unique_ptr<Place> take(const std::shared_ptr<ClientPlaces>& places,
                                     const std::string& client);

 private:
  const std::size_t all_max_;
  const std::size_t client_max_;
  std::mutex mutex_;  // for all below
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> by_client_;  // those with a place
};

}  // namespace h2server::content
