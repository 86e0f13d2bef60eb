// In place of http_client.cc in a program without libcurl: each request fails.
#include "app/client/http_client.h"

namespace h2server::app {

struct HttpClient::Handles {};

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

Result<HttpResponse, std::string> HttpClient::fetch(const HttpRequest& /*request*/) {
  return std::unexpected("this h2server was built without libcurl");
}

void HttpClient::limit(std::chrono::steady_clock::time_point /*until*/) noexcept {}

}  // namespace h2server::app
