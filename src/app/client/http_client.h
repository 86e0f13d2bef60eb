// HttpClient: what the program itself asks of other servers: the admin listener's status (top), a
// collector of traces, hooks, and an ACME server. By libcurl, which stays in http_client.cc.
// Follows no redirect.
//
// For one thread, but limit() and give_up() may be called by any.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct HttpRequest {
  std::string url;                       // http or https
  std::string unix_path = {};            // the Unix socket to connect to; empty: what the URL names
  std::vector<std::string> fields = {};  // "Name: value"
  std::optional<std::string> body = {};  // makes it a POST
  std::chrono::milliseconds time_max{5000};
  std::size_t response_bytes_max = 1024 * 1024;
  bool head = false;         // makes it a HEAD; without a body
  bool proxy = false;        // that of the environment, as curl does; else none
  std::string ca_file = {};  // PEM, whom to trust; empty: whom the system trusts
};

struct HttpResponse {
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;  // RFC 9110, 10.2.3
  std::map<std::string, std::string> fields = {};   // by names in lower case; the last of a name
};

class HttpClient {
 public:
  HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // Waits for the response. Keeps the connection for the next request. The error says what failed,
  // without the URL.
  [[nodiscard]] Result<HttpResponse, std::string> fetch(const HttpRequest& request);

  // Lets no fetch(), present or future, take longer than until then.
  void limit(std::chrono::steady_clock::time_point until) noexcept;
  void give_up() noexcept { limit(std::chrono::steady_clock::now()); }

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace h2server::app
