#include "app/put/upload_client.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "app/client/curl_fields.h"
#include "app/client/received_fields.h"

namespace h2server::app {

namespace {

constexpr std::size_t answer_bytes_max = 64 * 1024;
constexpr long buffer_bytes = 1024 * 1024;  // of one read of the file
constexpr long connect_s_max = 15;
// A server may write a large file to its disk before it answers.
constexpr long idle_s_max = 120;

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

Fields make_list(const std::vector<std::string>& lines) {
  Fields fields;
  for (const std::string& line : lines) add_field(fields, line.c_str());
  return fields;
}

// What the callbacks of one request use.
struct Exchange {
  const ClientRequest& request;
  ClientResponse response = {};
  std::uint64_t sent = 0;  // of the body
  int read_error = 0;      // an errno value; -1: the file has become shorter
  bool interrupted = false;
};

std::size_t read_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  const ClientBody& body = *exchange.request.body;
  const std::uint64_t room = std::min<std::uint64_t>(size * count, body.bytes - exchange.sent);
  if (room == 0) return 0;
  const std::uint64_t offset = body.offset + exchange.sent;
  ssize_t got = 0;
  do {
    got = ::pread(body.file, data, room, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    exchange.read_error = got < 0 ? errno : -1;
    return CURL_READFUNC_ABORT;
  }
  const auto bytes = static_cast<std::size_t>(got);
  if (body.sees) body.sees({data, bytes}, offset);
  exchange.sent += bytes;
  return bytes;
}

// For a request that libcurl has to send again, on another connection.
int seek_body(void* user, curl_off_t offset, int origin) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  exchange.sent = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  std::string& body = static_cast<Exchange*>(user)->response.body;
  body.append(data, std::min(size * count, answer_bytes_max - body.size()));
  return size * count;
}

std::size_t take_head_line(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  take_line({data, size * count}, static_cast<Exchange*>(user)->response.fields);
  return size * count;
}

int show_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  const auto bytes = std::min(static_cast<std::uint64_t>(sent), exchange.sent);
  exchange.interrupted = exchange.request.goes_on && !exchange.request.goes_on(bytes);
  return exchange.interrupted ? 1 : 0;
}

bool is_impossible(CURLcode error) {
  switch (static_cast<int>(error)) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct UploadClient::Handle {
  Handle() {
    // Once for the program, as for HttpClient.
    static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
    easy = started == CURLE_OK ? curl_easy_init() : nullptr;
    if (easy == nullptr) throw std::bad_alloc();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { curl_easy_cleanup(easy); }

  void prepare(const ClientOptions& options, const Fields& fields, Exchange& exchange);
  void prepare_body(Exchange& exchange);
  ClientFailure failure_of(CURLcode error, const Exchange& exchange);

  CURL* easy = nullptr;
  std::array<char, CURL_ERROR_SIZE> reason{};
};

void UploadClient::Handle::prepare(const ClientOptions& options, const Fields& fields,
                                   Exchange& exchange) {
  curl_easy_reset(easy);  // keeps connections
  reason[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(easy, CURLOPT_URL, exchange.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "h2server");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields.get());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect_s_max);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, idle_s_max);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_head_line);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &show_progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &exchange);
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (options.insecure) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  prepare_body(exchange);
}

void UploadClient::Handle::prepare_body(Exchange& exchange) {
  const ClientRequest& request = exchange.request;
  if (request.body) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, buffer_bytes);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body->bytes));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &read_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &seek_body);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, &exchange);
  } else if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

ClientFailure UploadClient::Handle::failure_of(CURLcode error, const Exchange& exchange) {
  using enum ClientFailure::Kind;
  if (exchange.interrupted) return {interrupted, "interrupted"};
  if (exchange.read_error < 0) return {file, "it has become shorter while it was sent"};
  if (exchange.read_error > 0) return {file, std::strerror(exchange.read_error)};
  long os_error = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
  std::string text = reason[0] != '\0' ? reason.data() : curl_easy_strerror(error);
  if (error == CURLE_COULDNT_CONNECT && os_error != 0) {
    text = std::generic_category().message(static_cast<int>(os_error));
  }
  return {is_impossible(error) ? impossible : line, std::move(text)};
}

std::string ClientResponse::field(const std::string& name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

UploadClient::UploadClient(ClientOptions options)
    : options_(std::move(options)), handle_(std::make_unique<Handle>()) {}
UploadClient::~UploadClient() = default;

Result<ClientResponse, ClientFailure> UploadClient::send(const ClientRequest& request) {
  const Fields fields = make_list(request.fields);
  Exchange exchange{.request = request};
  handle_->prepare(options_, fields, exchange);
  const CURLcode done = curl_easy_perform(handle_->easy);
  long status = 0;
  curl_easy_getinfo(handle_->easy, CURLINFO_RESPONSE_CODE, &status);
  exchange.response.status = static_cast<int>(status);
  // A server that refuses may close before it has read the body: what it says is what counts.
  const bool refused = done == CURLE_SEND_ERROR && status >= 400;
  if (done != CURLE_OK && !refused) {
    return std::unexpected(handle_->failure_of(done, exchange));
  }
  return std::move(exchange.response);
}

namespace {

// Returns an empty string if there is no such part.
std::string part_of(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

Url parse_url(const std::string& url) {
  Url handle(curl_url());
  if (handle == nullptr) throw std::bad_alloc();
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return nullptr;
  return handle;
}

bool is_ours(const Url& url) {
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  return (scheme == "http" || scheme == "https") && part_of(url, CURLUPART_USER).empty() &&
         part_of(url, CURLUPART_PASSWORD).empty();
}

}  // namespace

std::optional<UrlParts> split_url(const std::string& url) {
  const Url parsed = parse_url(url);
  if (parsed == nullptr || !is_ours(parsed)) return std::nullopt;
  UrlParts parts{
      .origin = part_of(parsed, CURLUPART_SCHEME) + "://" + part_of(parsed, CURLUPART_HOST),
      .path = part_of(parsed, CURLUPART_PATH),
      .query = part_of(parsed, CURLUPART_QUERY)};
  const std::string port = part_of(parsed, CURLUPART_PORT);
  if (!port.empty()) parts.origin += ':' + port;
  if (parts.path.empty()) parts.path = "/";
  return parts;
}

std::optional<std::string> resolve_url(const std::string& base, const std::string& reference) {
  const Url parsed = parse_url(base);
  if (parsed == nullptr ||
      curl_url_set(parsed.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK ||
      !is_ours(parsed)) {
    return std::nullopt;
  }
  return part_of(parsed, CURLUPART_URL);
}

}  // namespace h2server::app
