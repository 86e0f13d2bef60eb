#include "content/archive_places.h"

#include <utility>

namespace h2server::content {

ArchivePlaces::Place::Place(std::shared_ptr<ArchivePlaces> places, std::string client)
    : places_(std::move(places)), client_(std::move(client)) {}

ArchivePlaces::Place::~Place() {
  const std::lock_guard lock(places_->mutex_);
  --places_->taken_;
  const auto client = places_->by_client_.find(client_);
  if (--client->second == 0) places_->by_client_.erase(client);
}

std::unique_ptr<ArchivePlaces::Place> ArchivePlaces::take(
    const std::shared_ptr<ArchivePlaces>& places, const std::string& client) {
  const std::lock_guard lock(places->mutex_);
  if (places->taken_ == all_max) return nullptr;
  unsigned& count = places->by_client_[client];  // 0 only if it is new, so none is left behind
  if (count == client_max) return nullptr;
  auto place = std::make_unique<Place>(places, client);
  ++count;
  ++places->taken_;
  return place;
}

}  // namespace h2server::content
