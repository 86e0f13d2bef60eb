// UploadClient: the requests of h2server put, whose bodies are parts of files. By libcurl, which
// stays in upload_client.cc. Follows no redirect; proxies are those of the environment, as for
// curl.
//
// For one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct ClientBody {
  int file = -1;             // open for reading; its position is not used
  std::uint64_t offset = 0;  // of the file, where the body begins
  std::uint64_t bytes = 0;
  // Called with each piece that is sent, and where it lies in the file. A piece may come again.
  std::function<void(std::string_view piece, std::uint64_t offset)> sees = {};
};

struct ClientRequest {
  std::string method;
  std::string url;
  std::vector<std::string> fields = {};  // "Name: value"
  std::optional<ClientBody> body = {};   // unset: none
  // Called now and then with the bytes of the body that were sent. Returns false to end the
  // request.
  std::function<bool(std::uint64_t sent)> goes_on = {};
};

struct ClientResponse {
  int status = 0;
  std::map<std::string, std::string> fields = {};  // by names in lower case; the last one of a name
  std::string body = {};                           // its first 64 KiB

  // Returns an empty string if there is no such field.
  [[nodiscard]] std::string field(const std::string& name) const;
};

struct ClientFailure {
  enum class Kind : std::uint8_t {
    line,         // may work later
    impossible,   // never works: a certificate that is not trusted, a URL that can't be read
    file,         // the file could not be read
    interrupted,  // goes_on() returned false
  };
  Kind kind = Kind::line;
  std::string reason;
};

struct ClientOptions {
  bool insecure = false;  // any certificate will do
  std::string ca_file = {};
};

class UploadClient {
 public:
  explicit UploadClient(ClientOptions options);
  UploadClient(const UploadClient&) = delete;
  UploadClient& operator=(const UploadClient&) = delete;
  ~UploadClient();

  // Waits for the response. Keeps the connection for the next request. Gives up if nothing moves
  // for two minutes.
  [[nodiscard]] Result<ClientResponse, ClientFailure> send(const ClientRequest& request);

 private:
  struct Handle;
  const ClientOptions options_;
  std::unique_ptr<Handle> handle_;
};

struct UrlParts {
  std::string origin;  // "https://host:8443"
  std::string path;    // as received, "/" at least
  std::string query;   // without '?'
};

// Returns nullopt if `url` is none of http or https, or has user information.
std::optional<UrlParts> split_url(const std::string& url);
// Resolves a reference (RFC 3986, 5). Returns nullopt if the result is not a URL as above.
std::optional<std::string> resolve_url(const std::string& base, const std::string& reference);

}  // namespace h2server::app
