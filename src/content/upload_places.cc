#include "content/upload_places.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "content/client_places.h"
#include "content/upload_refusals.h"
#include "h2server/rate_limit.h"

namespace h2server::content {

namespace {

std::shared_ptr<ClientPlaces> make_places() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for an invalid argument
  // A few, however few descriptors there are.
  const std::size_t descriptors = std::max<std::size_t>(limit.rlim_cur, 64);
  return std::make_shared<ClientPlaces>(descriptors / 2, descriptors / 8);
}

std::optional<Response> take_place(Request& request) {
  // By the first request, when the server has raised the limit.
  static const std::shared_ptr<ClientPlaces> places = make_places();
  std::shared_ptr<ClientPlaces::Place> place = ClientPlaces::take(places, client_network(request));
  if (place == nullptr) {
    Response response = refuse_upload(503, "too many uploads are under way");
    response.add("Retry-After", "1");
    return response;
  }
  request.attach(std::move(place));
  return std::nullopt;
}

}  // namespace

Middleware limit_uploads() { return take_place; }

}  // namespace h2server::content
