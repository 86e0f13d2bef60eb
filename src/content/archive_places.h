// ArchivePlaces: how many archives are sent at once, by all clients and to one.
//
// An archive takes descriptors and memory for as long as its client reads, which may be slow. No
// client gets all places. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace h2server::content {

class ArchivePlaces {
 public:
  static constexpr unsigned all_max = 8;
  static constexpr unsigned client_max = 4;

  // Belongs to its owner until it is destroyed.
  class Place {
   public:
    Place(std::shared_ptr<ArchivePlaces> places, std::string client);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

   private:
    const std::shared_ptr<ArchivePlaces> places_;
    const std::string client_;
  };

  // Returns null if no place is free for that client.
  static std::unique_ptr<Place> take(const std::shared_ptr<ArchivePlaces>& places,
                                     const std::string& client);

 private:
  std::mutex mutex_;  // for all below
  unsigned taken_ = 0;
  std::map<std::string, unsigned> by_client_;  // those with a place
};

}  // namespace h2server::content
