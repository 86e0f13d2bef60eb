#include "content/pending_places.h"

#include <utility>

namespace h2server::content {

void PendingPlaces::keep(const std::string& id, std::unique_ptr<ClientPlaces::Place> place) {
  const std::lock_guard lock(mutex_);
  kept_.insert_or_assign(id, std::move(place));
}

void PendingPlaces::end(const std::string& id) {
  const std::lock_guard lock(mutex_);
  kept_.erase(id);
}

std::vector<std::string> PendingPlaces::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  ids.reserve(kept_.size());
  for (const auto& [id, place] : kept_) ids.push_back(id);
  return ids;
}

}  // namespace h2server::content
