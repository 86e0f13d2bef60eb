#include "app/uploads/upload_places.h"

#include <optional>
#include <utility>

#include "content/storage/upload_refusals.h"

namespace h2server::app {

Middleware limit_uploads(std::shared_ptr<content::ClientPlaces> places) {
  return [places = std::move(places)](Request& request) -> std::optional<Response> {
    std::shared_ptr<content::ClientPlaces::Place> place =
        content::ClientPlaces::take(places, content::share_of(request));
    if (place == nullptr) {
      Response response = content::refuse_upload(503, "too many uploads are under way");
      response.add("Retry-After", "1");
      return response;
    }
    request.attach(std::move(place));
    return std::nullopt;
  };
}

}  // namespace h2server::app
