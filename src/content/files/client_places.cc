#include "content/files/client_places.h"

#include <utility>

#include "h2server/rate_limit.h"

namespace h2server::content {

std::string share_of(const Request& request) {
  std::string network = client_network(request);
  if (network.empty() && !request.connection().is_unix_socket()) network = "gone";
  return network;
}

ClientPlaces::Place::Place(std::shared_ptr<ClientPlaces> places, std::string client)
    : places_(std::move(places)), client_(std::move(client)) {}

ClientPlaces::Place::~Place() {
  const std::lock_guard lock(places_->mutex_);
  --places_->taken_;
  const auto client = places_->by_client_.find(client_);
  if (--client->second == 0) places_->by_client_.erase(client);
}

std::unique_ptr<ClientPlaces::Place> ClientPlaces::take(const std::shared_ptr<ClientPlaces>& places,
                                                        const std::string& client) {
  const std::lock_guard lock(places->mutex_);
  if (places->taken_ == places->all_max_) return nullptr;
  std::size_t& count = places->by_client_[client];  // 0 only if it is new, so none is left behind
  if (!client.empty() && count == places->client_max_) return nullptr;
  auto place = std::make_unique<Place>(places, client);
  ++count;
  ++places->taken_;
  return place;
}

}  // namespace h2server::content
