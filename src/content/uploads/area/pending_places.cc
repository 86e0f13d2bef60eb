#include "content/uploads/area/pending_places.h"

#include <algorithm>
#include <utility>

namespace h2server::content {

void PendingPlaces::keep(const std::string& id, std::unique_ptr<ClientPlaces::Place> place) {
  const std::lock_guard lock(mutex_);
  kept_.insert_or_assign(id, Kept{.place = std::move(place), .turn = turns_++});
}

void PendingPlaces::end(const std::string& id) {
  const std::lock_guard lock(mutex_);
  kept_.erase(id);
}

std::string PendingPlaces::client_of(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(id);
  return found != kept_.end() ? found->second.place->client() : std::string();
}

std::vector<std::string> PendingPlaces::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  ids.reserve(kept_.size());
  for (const auto& [id, kept] : kept_) ids.push_back(id);
  return ids;
}

std::vector<std::string> PendingPlaces::next_to_check(const std::string& client, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  const auto add_next = [&](bool of_all) {
    std::vector<std::map<std::string, Kept>::iterator> found;
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
      if (of_all || one->second.place->client() == client) found.push_back(one);
    }
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size()));
    std::ranges::partial_sort(found, end, {}, [](const auto& one) { return one->second.turn; });
    for (auto one = found.begin(); one != end; ++one) {
      (*one)->second.turn = turns_++;
      ids.push_back((*one)->first);
    }
  };
  add_next(false);
  add_next(true);
  return ids;
}

}  // namespace h2server::content
