// In place of upload_client.cc in a program without libcurl: each request fails. URLs are not
// taken apart, so that it is a request that fails.
#include "app/put/upload_client.h"

#include <utility>

namespace h2server::app {

struct UploadClient::Handle {};

std::string ClientResponse::field(const std::string& name) const {
  const auto found = fields.find(name);
  return found != fields.end() ? found->second : std::string();
}

UploadClient::UploadClient(ClientOptions options) : options_(std::move(options)) {}
UploadClient::~UploadClient() = default;

Result<ClientResponse, ClientFailure> UploadClient::send(const ClientRequest& /*request*/) {
  return std::unexpected(ClientFailure{.kind = ClientFailure::Kind::impossible,
                                       .reason = "this h2server was built without libcurl"});
}

std::optional<UrlParts> split_url(const std::string& url) {
  return UrlParts{.origin = url, .path = "/", .query = {}};
}

std::optional<std::string> resolve_url(const std::string& /*base*/,
                                       const std::string& /*reference*/) {
  return std::nullopt;
}

}  // namespace h2server::app
