#include "app/put/put_transfer.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text/base64.h"
#include "base/text/harmless_text.h"
#include "base/text/text.h"
#include "content/storage/file_digest.h"
#include "http/fields/digest_fields.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds put_retry_after_max{300};  // a server must not silence it for a day

// The first line of what a server says, without what a terminal would take for a command.
std::string said(const ClientResponse& response) {
  if (!response.field("content-type").starts_with("text/plain") &&
      !response.field("content-type").contains("json")) {
    return {};
  }
  std::string line = response.body.substr(0, std::min<std::size_t>(response.body.find('\n'), 200));
  return base::harmless_text(line);
}

std::string describe_response(const ClientResponse& response) {
  const std::string text = said(response);
  const std::string answer =
      fmt::format("the server answers {}{}{}", response.status, text.empty() ? "" : ": ", text);
  switch (response.status) {
    case 401:
      return answer + "; is the token right? (--token TOKEN)";
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return fmt::format("{}; it leads to {}", answer, response.field("location"));
    default:
      return answer;
  }
}

// A server that is busy, restarts, or stands behind a proxy that does not reach it.
bool may_pass(int status) {
  constexpr std::array passing{408, 423, 425, 429, 500, 502, 503, 504};
  return std::ranges::find(passing, status) != passing.end();
}

bool is_success(int status) { return status >= 200 && status < 300; }

// Another thing than tus answers a POST that way: no such path, no such method, no form.
bool has_no_tus(int status) {
  constexpr std::array other{400, 404, 405, 411, 415, 501};
  return std::ranges::find(other, status) != other.end();
}

}  // namespace

PutTransfer::PutTransfer(Parts parts) : parts_(std::move(parts)) {}

Result<PutResult, std::string> PutTransfer::run() {
  url_ = parts_.state.load();
  Step step = url_.empty() ? Step::create : Step::ask;
  while (step != Step::verify) {
    const Next next = take(step);
    if (!next) return std::unexpected(next.error());
    step = *next;
  }
  Result<PutResult, std::string> result = verify();
  parts_.state.forget();
  return result;
}

PutTransfer::Next PutTransfer::take(Step step) {
  switch (step) {
    case Step::create:
      return create();
    case Step::ask:
      return ask();
    case Step::send:
      return send();
    case Step::plain:
      return put();
    case Step::verify:
      break;
  }
  return Step::verify;
}

// --- the steps --------------------------------------------------------------------------------

PutTransfer::Next PutTransfer::create() {
  if (creator_ == parts_.target.creators.size()) return Step::plain;
  const std::string& creator = parts_.target.creators[creator_];
  const std::string name = parts_.target.name_prefix + parts_.name;
  const auto response = request(
      {.method = "POST",
       .url = parts_.target.with_query(creator),
       .fields = {"Tus-Resumable: 1.0.0", fmt::format("Upload-Length: {}", parts_.file.size()),
                  "Upload-Metadata: filename " + base::encode_base64(name)}});
  if (!response) return failed(Step::create, response.error());
  if (response->status == 201 && !response->field("location").empty()) {
    const std::optional<std::string> url = resolve_url(creator, response->field("location"));
    if (!url) return std::unexpected(std::string("the server gives no URL for the upload"));
    url_ = parts_.target.with_query(*url);
    parts_.state.save(url_);
    offset_ = 0;
    // An empty file may be complete now, or with the first PATCH.
    return parts_.file.size() == 0 ? Step::ask : Step::send;
  }
  const bool speaks_tus = !response->field("tus-resumable").empty();
  if (!speaks_tus && (has_no_tus(response->status) || is_success(response->status))) {
    ++creator_;
    return Step::create;
  }
  return refused(Step::create, *response);
}

PutTransfer::Next PutTransfer::ask() {
  const auto response =
      request({.method = "HEAD", .url = url_, .fields = {"Tus-Resumable: 1.0.0"}});
  if (!response) return failed(Step::ask, response.error());
  if (response->status == 404 || response->status == 410) {
    parts_.state.forget();
    return retry(Step::create, "the server has forgotten the upload");
  }
  if (!is_success(response->status)) {
    // HEAD has no text: what the request before it got says more.
    if (response->status == 409) {
      return std::unexpected(conflict_.empty() ? "the server has another file of that name"
                                               : conflict_);
    }
    return refused(Step::ask, *response);
  }
  const std::optional<std::uint64_t> offset = base::parse_decimal(response->field("upload-offset"));
  if (!offset || *offset > parts_.file.size()) {
    return std::unexpected(std::string("the server says nothing of what it has"));
  }
  if (!conflict_.empty() && *offset == offset_) return std::unexpected(conflict_);
  conflict_.clear();
  if (*offset > 0 && *offset < parts_.file.size()) {
    parts_.progress.note(fmt::format("goes on at {} %", *offset * 100 / parts_.file.size()));
  }
  reach(*offset);
  return *offset == parts_.file.size() && parts_.file.size() > 0 ? Step::verify : Step::send;
}

PutTransfer::Next PutTransfer::send() {
  const auto response =
      request({.method = "PATCH",
               .url = url_,
               .fields = {"Tus-Resumable: 1.0.0", fmt::format("Upload-Offset: {}", offset_),
                          "Content-Type: application/offset+octet-stream"},
               .body = body_from(offset_)});
  if (!response) return failed(Step::ask, response.error());
  if (response->status == 404 || response->status == 410) return Step::ask;
  if (response->status == 409) {
    conflict_ = describe_response(*response);
    return Step::ask;
  }
  if (!is_success(response->status)) return refused(Step::ask, *response);
  const std::uint64_t size = parts_.file.size();
  const std::uint64_t reached =
      base::parse_decimal(response->field("upload-offset")).value_or(size);
  if (reached < size) {
    const std::uint64_t before = offset_;
    reach(std::max(reached, before));
    return reached > before ? Step::send : retry(Step::ask, "the server took no byte");
  }
  reach(size);
  return Step::verify;
}

PutTransfer::Next PutTransfer::put() {
  const auto response =
      request({.method = "PUT",
               .url = parts_.target.file_url(parts_.name),
               .fields = {"If-None-Match: *", "Content-Type: application/octet-stream"},
               .body = body_from(0)});
  if (!response) return failed(Step::plain, response.error());
  if (response->status == 409 || response->status == 412) {
    return std::unexpected(
        fmt::format("the server has a file of that name ({})", response->status));
  }
  if (!is_success(response->status)) return refused(Step::plain, *response);
  return Step::verify;
}

// --- what may go wrong ------------------------------------------------------------------------

Result<ClientResponse, ClientFailure> PutTransfer::request(ClientRequest request) {
  if (!parts_.token.empty() && parts_.target.is_own(request.url)) {
    request.fields.push_back("Authorization: Bearer " + parts_.token);
  }
  const std::uint64_t begin = request.body ? request.body->offset : offset_;
  request.goes_on = [this, begin](std::uint64_t sent) {
    parts_.progress.update(begin + sent);
    return !parts_.interrupted();
  };
  Result<ClientResponse, ClientFailure> response = parts_.client.send(request);
  if (response) {
    answered_ = true;
    if (std::string digest = response->field("repr-digest"); !digest.empty()) {
      digest_ = std::move(digest);
    }
  }
  return response;
}

PutTransfer::Next PutTransfer::retry(Step again, const std::string& reason,
                                     std::chrono::seconds at_least) {
  if (failures_ >= parts_.policy.retries) return std::unexpected(reason);
  milliseconds wait = parts_.policy.first_wait;
  for (unsigned i = 0; i < failures_ && wait < parts_.policy.wait_max; ++i) wait *= 2;
  wait = std::max<milliseconds>(std::min(wait, parts_.policy.wait_max), at_least);
  ++failures_;
  parts_.progress.note(fmt::format("{}; tries again in {:.1f} s", reason,
                                   std::chrono::duration<double>(wait).count()));
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    if (parts_.interrupted()) return std::unexpected(std::string("interrupted"));
    const auto rest =
        std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (rest <= 0) return again;
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(rest, 1000)));  // a signal ends it
  }
}

PutTransfer::Next PutTransfer::failed(Step again, const ClientFailure& failure) {
  switch (failure.kind) {
    case ClientFailure::Kind::line:
      // A server that never was there is rather a wrong URL.
      if (answered_) return retry(again, failure.reason);
      return std::unexpected(
          fmt::format("can't reach {}: {}", parts_.target.origin, failure.reason));
    case ClientFailure::Kind::impossible:
      return std::unexpected(fmt::format("can't use {}: {}", parts_.target.origin, failure.reason));
    case ClientFailure::Kind::file:
      return std::unexpected(fmt::format("can't read it: {}", failure.reason));
    case ClientFailure::Kind::interrupted:
      break;
  }
  return std::unexpected(failure.reason);
}

PutTransfer::Next PutTransfer::refused(Step again, const ClientResponse& response) {
  if (!may_pass(response.status)) return std::unexpected(describe_response(response));
  const auto wait = base::parse_decimal(response.field("retry-after")).value_or(0);
  const auto most = static_cast<std::uint64_t>(put_retry_after_max.count());
  return retry(again, describe_response(response),
               std::chrono::seconds(static_cast<std::int64_t>(std::min(wait, most))));
}

void PutTransfer::reach(std::uint64_t offset) {
  offset_ = offset;
  if (offset > best_) failures_ = 0;
  best_ = std::max(best_, offset);
  parts_.progress.update(offset);
}

ClientBody PutTransfer::body_from(std::uint64_t offset) {
  return {.file = parts_.file.fd(),
          .offset = offset,
          .bytes = parts_.file.size() - offset,
          .sees = [this](std::string_view piece, std::uint64_t at) { parts_.file.see(piece, at); }};
}

// --- the digest -------------------------------------------------------------------------------

Result<PutResult, std::string> PutTransfer::verify() {
  if (parts_.file.changed()) {
    return std::unexpected(std::string("the file has changed while it was sent"));
  }
  const Result<std::string, int> own = parts_.file.sha256();
  if (!own) {
    return std::unexpected(fmt::format(
        "can't read it: {}", own.error() > 0 ? std::strerror(own.error()) : "it is shorter now"));
  }
  std::string theirs = sha256_of_field(digest_);
  if (theirs.empty() && !url_.empty()) {
    const auto response = request({.method = "GET", .url = url_});
    if (response && response->status == 200) theirs = sha256_of_json(response->body);
  }
  if (!theirs.empty() && theirs != *own) {
    return std::unexpected(fmt::format(
        "the server stored something else: its SHA-256 is {}, that of the file {}", theirs, *own));
  }
  return PutResult{.sha256 = *own, .verified = !theirs.empty()};
}

std::string sha256_of_field(std::string_view repr_digest) {
  const http::DigestFields digests = http::parse_digest_field(repr_digest);
  return digests.sha256 ? content::hex_digits(*digests.sha256) : std::string();
}

// In a string of JSON the quotes would be escaped, so that text is a member's name.
std::string sha256_of_json(std::string_view json) {
  constexpr std::string_view member = "\"sha256\"";
  constexpr std::size_t digits = 64;
  const auto skip_blanks = [&json] {
    json.remove_prefix(std::min(json.find_first_not_of(" \t\r\n"), json.size()));
  };
  const std::size_t found = json.find(member);
  if (found == json.npos) return {};
  json.remove_prefix(found + member.size());
  skip_blanks();
  if (!json.starts_with(':')) return {};
  json.remove_prefix(1);
  skip_blanks();
  if (json.size() < digits + 2 || json[0] != '"' || json[digits + 1] != '"') return {};
  const std::string_view text = json.substr(1, digits);
  const auto is_digit = [](char c) { return base::is_digit(c) || (c >= 'a' && c <= 'f'); };
  return std::ranges::all_of(text, is_digit) ? std::string(text) : std::string();
}

}  // namespace h2server::app
