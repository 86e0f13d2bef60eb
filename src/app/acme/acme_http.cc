#include "app/acme/acme_http.h"

#include <memory>
#include <utility>

#include "app/client/http_client.h"

namespace h2server::app {

namespace {

constexpr std::chrono::seconds time_max{30};
constexpr const char* message_type = "Content-Type: application/jose+json";  // RFC 8555, 6.2

HttpRequest to_http(const AcmeRequest& request, const std::string& ca_file) {
  HttpRequest http{.url = request.url, .time_max = time_max, .proxy = true, .ca_file = ca_file};
  if (!request.accept.empty()) http.fields.push_back("Accept: " + request.accept);
  switch (request.method) {
    case AcmeRequest::Method::get:
      break;
    case AcmeRequest::Method::head:
      http.head = true;
      break;
    case AcmeRequest::Method::post:
      http.fields.emplace_back(message_type);
      http.body = request.body;
      break;
  }
  return http;
}

std::string take(HttpResponse& response, const char* name) {
  return std::move(response.fields[name]);
}

}  // namespace

AcmeClient make_acme_client(std::string ca_file) {
  const auto client = std::make_shared<HttpClient>();
  return {.transport = [client, ca_file = std::move(ca_file)](
                           const AcmeRequest& request) -> Result<AcmeResponse, std::string> {
            Result<HttpResponse, std::string> response = client->fetch(to_http(request, ca_file));
            if (!response) return std::unexpected(std::move(response.error()));
            return AcmeResponse{.status = response->status,
                                .body = std::move(response->body),
                                .nonce = take(*response, "replay-nonce"),
                                .location = take(*response, "location"),
                                .retry_after = response->retry_after};
          },
          .give_up = [client] { client->give_up(); }};
}

}  // namespace h2server::app
