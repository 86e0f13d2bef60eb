#include "content/s3/transfer_state.h"

#include <algorithm>
#include <chrono>

#include "base/assert.h"
#include "base/out_of_memory.h"
#include "base/text/text.h"
#include "content/s3/signature.h"

namespace h2server::content::s3 {

namespace {

void append(Fields& fields, const char* line) {
  curl_slist* const longer = curl_slist_append(fields.get(), line);
  if (longer == nullptr) base::out_of_memory();
  static_cast<void>(fields.release());
  fields.reset(longer);
}

std::string_view name_of(TransferRequest::Method method) noexcept {
  switch (method) {
    using enum TransferRequest::Method;
    case get:
      return "GET";
    case head:
      return "HEAD";
    case put:
      return "PUT";
    case post:
      return "POST";
    case remove:
      break;
  }
  return "DELETE";
}

void set_network(CURL* handle, const TransfersOptions& options) {
  const TransferLimits& limits = options.limits;
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);  // as it is signed
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name server at the end
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(limits.connect_max.count()));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits.silence_max.count()));
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "h2server");
  if (!options.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
}

// Bodies are in memory as those of POST are, so libcurl can send one again on another connection if
// a kept one turns out to be closed. It sends "Expect: 100-continue" with those above 1 MiB.
// Nothing waits for that answer: a store that wants the body would cost a round trip or, if it does
// not answer, a second.
void set_method(CURL* handle, const TransferRequest& request) {
  using enum TransferRequest::Method;
  switch (request.method) {
    case get:
      return;
    case head:
      curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
      return;
    case remove:
      curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "DELETE");
      return;
    case put:
    case post:
      break;
  }
  static constexpr std::string_view nothing;
  const std::string_view body = request.body != nullptr ? *request.body : nothing;
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  if (request.method == put) curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "PUT");
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 0L);
}

}  // namespace

void TransferState::prepare(const Credentials& credentials, const TransfersOptions& options) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const RequestToSign unsigned_request{.method = name_of(request.method),
                                       .url = request.url,
                                       .fields = request.fields,
                                       .region = options.region};
  for (const std::string& field : sign(unsigned_request, credentials, now)) {
    append(fields, field.c_str());
  }
  CURL* const handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields.get());
  curl_easy_setopt(handle, CURLOPT_PRIVATE, this);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  set_network(handle, options);
  set_method(handle, request);
}

void TransferState::use_http2(bool on) {
  const long version = on ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
  curl_easy_setopt(easy.get(), CURLOPT_HTTP_VERSION, version);
  // Waits to see whether a connection that is being made can be shared.
  curl_easy_setopt(easy.get(), CURLOPT_PIPEWAIT, on ? 1L : 0L);
}

// RFC 9112, 4 and 5. A status line begins a response: the one before it was interim.
void TransferState::take_line(std::string_view line) {
  line = base::trim(line.substr(0, line.find_last_not_of("\r\n") + 1));
  if (head_finished) return;  // a trailer field
  head_bytes += line.size();
  head_too_long = head_too_long || head_bytes > limits.head_bytes_max;
  if (head_too_long) return;
  if (line.starts_with("HTTP/")) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto digits = base::parse_decimal(line.substr(std::min(space + 1, line.size()), 3));
    head = {.status = static_cast<int>(digits.value_or(0)), .fields = {}};
    return;
  }
  if (line.empty()) {
    if (head.status >= 200) finish_head();
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return;
  head.fields.push_back(
      {std::string(line.substr(0, colon)), std::string(base::trim(line.substr(colon + 1)))});
}

// The head of an error waits for its body.
void TransferState::finish_head() {
  head_finished = true;
  if (head.status >= 300) return;
  expected = base::parse_decimal(head.find("Content-Length")).value_or(0);
  answer(TransferAnswer{.head = std::move(head), .error_body = {}});
  head = {.status = 200, .fields = {}};
}

void TransferState::answer(Transfer::Outcome result) {
  if (destination.arrivals == nullptr) return;
  const bool sent =
      destination.arrivals->try_send({.outcome = std::move(result), .beside = destination.beside});
  ASSERT(sent);  // it has room for both
  destination.arrivals.reset();
}

// Returns false if there is no room.
bool TransferState::take_body(std::string_view bytes) {
  if (head.status >= 300) {
    const std::size_t room = AnswerLimits::error_bytes_max - error_body.size();
    error_body.append(bytes.substr(0, room));
    return true;
  }
  if (abandoned || overflown) return true;
  if (filling.size() + bytes.size() > limits.piece_bytes && !flush()) {
    overflown = !pauses;
    return overflown;
  }
  if (filling.empty()) {
    filling.reserve(static_cast<std::size_t>(std::clamp<std::uint64_t>(
        expected, bytes.size(), std::max(limits.piece_bytes, bytes.size()))));
  }
  filling.append(bytes);
  take(filling.capacity() - filling_held);
  filling_held = filling.capacity();
  expected -= std::min<std::uint64_t>(expected, bytes.size());
  return true;
}

void TransferState::abandon() {
  abandoned = true;
  destination.arrivals.reset();
  std::string().swap(filling);
  give_back(std::exchange(filling_held, 0));
}

// Hands `filling` to the reader. Returns false if there is no room; then the reader will say when
// there is some.
bool TransferState::flush() {
  if (filling.empty()) return true;
  bool sent = pieces.try_send(std::move(filling));
  if (!sent) {
    starved.store(true);
    // Room that the reader made before it could see that: it says nothing about this.
    sent = pieces.try_send(std::move(filling));
  }
  if (!sent) return false;
  filling = std::string();
  filling_held = 0;  // the reader has it
  return true;
}

}  // namespace h2server::content::s3
