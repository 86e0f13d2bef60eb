#include "app/client/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/client/curl_fields.h"
#include "app/client/received_fields.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Fields make_fields(const HttpRequest& request) {
  Fields fields;
  for (const std::string& field : request.fields) add_field(fields, field.c_str());
  add_field(fields, "Expect:");  // libcurl would wait for "100 Continue" before a large body
  return fields;
}

constexpr std::size_t fields_bytes_max = 256 * 1024;  // libcurl bounds headers, but not trailers

struct Download {
  std::string body;
  std::size_t bytes_max = 0;
  std::size_t fields_bytes = 0;
  std::map<std::string, std::string> fields = {};
};

// Returning less than it got ends the transfer.
std::size_t receive(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& download = *static_cast<Download*>(user);
  if (size * count > download.bytes_max - download.body.size()) return 0;
  download.body.append(data, size * count);
  return size * count;
}

std::size_t take_head(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& download = *static_cast<Download*>(user);
  if (size * count > fields_bytes_max - download.fields_bytes) return 0;
  download.fields_bytes += size * count;
  take_line({data, size * count}, download.fields);
  return size * count;
}

}  // namespace

struct HttpClient::Handles {
  Handles() {
    // Once for the program; it never ends the library, whose threads may still look up a name.
    static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
    if (started != CURLE_OK) throw std::bad_alloc();
    multi = curl_multi_init();
    easy = curl_easy_init();
    if (multi == nullptr || easy == nullptr) {
      free();
      throw std::bad_alloc();
    }
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() { free(); }

  void free() noexcept {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  void prepare(const HttpRequest& request, const Fields& fields, Download& download);
  CURLcode perform(steady_clock::time_point end);
  // After perform(), until the handle is removed from `multi`.
  HttpResponse result(Download download);
  std::string reason_of(CURLcode error);

  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::array<char, CURL_ERROR_SIZE> reason{};
  std::atomic<steady_clock::time_point> until{steady_clock::time_point::max()};
};

void HttpClient::Handles::prepare(const HttpRequest& request, const Fields& fields,
                                  Download& download) {
  curl_easy_reset(easy);  // keeps connections
  reason[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (!request.proxy) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name server at the end
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "h2server");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &download);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_head);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &download);
  if (request.head) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  if (!request.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, request.ca_file.c_str());
  if (!request.unix_path.empty()) {
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request.unix_path.c_str());
  }
  if (request.body) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body->size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());  // not copied
  }
}

// The time limit is not libcurl's, so that limit() can move it while this waits.
CURLcode HttpClient::Handles::perform(steady_clock::time_point end) {
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi, &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) return message->data.result;
    const auto rest =
        std::chrono::ceil<milliseconds>(std::min(end, until.load()) - steady_clock::now());
    if (rest <= milliseconds(0)) return CURLE_OPERATION_TIMEDOUT;
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(rest.count()), nullptr);
  }
}

HttpResponse HttpClient::Handles::result(Download download) {
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
  HttpResponse response{.status = static_cast<int>(status),
                        .body = std::move(download.body),
                        .retry_after = {},
                        .fields = std::move(download.fields)};
  if (retry_after > 0) response.retry_after = std::chrono::seconds(retry_after);
  return response;
}

std::string HttpClient::Handles::reason_of(CURLcode error) {
  long os_error = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
  if (error == CURLE_OPERATION_TIMEDOUT) return "no response in time";
  if (error == CURLE_WRITE_ERROR) return "the response is too long";
  if (error == CURLE_COULDNT_CONNECT && os_error != 0) {
    return std::generic_category().message(static_cast<int>(os_error));
  }
  return reason[0] != '\0' ? reason.data() : curl_easy_strerror(error);
}

HttpClient::HttpClient() : handles_(std::make_unique<Handles>()) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse, std::string> HttpClient::fetch(const HttpRequest& request) {
  const auto end = steady_clock::now() + request.time_max;
  const Fields fields = make_fields(request);
  Download download{.body = {}, .bytes_max = request.response_bytes_max};
  handles_->prepare(request, fields, download);
  CURL* const easy = handles_->easy;
  if (curl_multi_add_handle(handles_->multi, easy) != CURLM_OK) {
    return std::unexpected("out of memory");
  }
  const CURLcode done = handles_->perform(end);
  const HttpResponse response = handles_->result(std::move(download));
  const std::string reason = done == CURLE_OK ? std::string() : handles_->reason_of(done);
  curl_multi_remove_handle(handles_->multi, easy);
  if (done != CURLE_OK) return std::unexpected(reason);
  return response;
}

void HttpClient::limit(steady_clock::time_point until) noexcept {
  handles_->until.store(until);
  curl_multi_wakeup(handles_->multi);
}

}  // namespace h2server::app
