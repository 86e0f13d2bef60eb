#include "h2server/compression.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "content/coding/coding.h"
#include "content/coding/encoding_source.h"
#include "h2server/negotiation.h"
#include "http/fields/syntax.h"
#include "http/message.h"

namespace h2server {

namespace {

using content::Coding;

// Encoding that much takes a millisecond or two, during which the worker does nothing else.
constexpr std::size_t at_once_bytes_max = 64 * 1024;

// The fields of a response that decide.
struct Found {
  std::string_view content_type;  // valid until the response changes
  bool vary = false;              // one that mentions Accept-Encoding or is "*"
  bool accept_ranges = false;
  bool must_stay = false;  // the body must be sent as it is
};

bool list_contains(std::string_view list, std::string_view word) {
  bool contains = false;
  http::for_each_element(list, [&](std::string_view element) {
    contains = contains || http::equals_ignoring_case(element, word);
  });
  return contains;
}

Found find_fields(const Response& response) {
  using http::equals_ignoring_case;
  Found found;
  for (const auto& [name, value] : response.fields()) {
    switch (name.size()) {
      case 4:
        if (equals_ignoring_case(name, "vary"))
          found.vary |= list_contains(value, "accept-encoding") || list_contains(value, "*");
        break;
      case 6:
        found.must_stay |= equals_ignoring_case(name, "digest");
        break;
      case 11:
        found.must_stay |=
            equals_ignoring_case(name, "repr-digest") || equals_ignoring_case(name, "content-md5");
        break;
      case 12:
        if (equals_ignoring_case(name, "content-type")) found.content_type = value;
        break;
      case 13:
        found.must_stay |=
            equals_ignoring_case(name, "content-range") ||
            (equals_ignoring_case(name, "cache-control") && list_contains(value, "no-transform"));
        found.accept_ranges |= equals_ignoring_case(name, "accept-ranges");
        break;
      case 14:
        found.must_stay |= equals_ignoring_case(name, "content-digest");
        break;
      case 16:
        found.must_stay |= equals_ignoring_case(name, "content-encoding");
        break;
      default:
        continue;
    }
  }
  return found;
}

std::optional<Coding> best_coding(const Request& request) {
  static constexpr std::array<std::string_view, content::coding_count + 1> offers = {
      "zstd", "br", "gzip", "identity"};
  // A client that accepts nothing of these gets the content as it is (RFC 9110, 12.5.3).
  const std::size_t best = best_encoding(request, offers).value_or(content::coding_count);
  if (best == content::coding_count) return std::nullopt;
  return content::codings[best];
}

// RFC 9110, 12.5.5. One list, with the names that are there already.
void add_vary(Response& response) {
  std::string names;
  for (const auto& [name, value] : response.fields()) {
    if (http::equals_ignoring_case(name, "vary") && !value.empty())
      names.append(value).append(", ");
  }
  response.replace("Vary", names + "Accept-Encoding");
}

void weaken_etag(Response& response) {
  const std::optional<std::string_view> etag = response.find("ETag");
  if (etag && !etag->starts_with("W/")) response.replace("ETag", "W/" + std::string(*etag));
}

// The body of a response to HEAD, which nobody reads.
class NoBody final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
};

void encode_body(const Request& request, Response& response, Coding coding) {
  Response::Body& body = response.body();
  if (request.method() == Method::HEAD) {
    response.set_body(Response::Streamed{std::make_unique<NoBody>(), std::nullopt});
  } else if (auto* const text = std::get_if<std::string>(&body)) {
    if (response.size().value_or(0) <= at_once_bytes_max) {
      *text = content::compress(*text, coding);
    } else {
      auto source = content::encode_text(std::move(*text), coding);
      response.set_body(Response::Streamed{std::move(source), std::nullopt});
    }
  } else if (auto* const streamed = std::get_if<Response::Streamed>(&body)) {
    auto source = content::encode_source(std::move(streamed->source), coding, streamed->size);
    response.set_body(Response::Streamed{std::move(source), std::nullopt});
  }
}

// RFC 9110, 15.4.5: 304 has the Vary and the ETag that 200 would have had. What that would have
// been, and of which type, is unknown here. A weak tag is compared weakly, so it also updates a
// stored response whose tag stayed strong (RFC 9111, 4.3.4).
void change_not_modified(const Request& request, Response& response) {
  const Found found = find_fields(response);
  const bool encodes = found.content_type.empty() || content::is_compressible(found.content_type);
  if (found.must_stay || found.vary || !encodes) return;
  add_vary(response);
  if (best_coding(request)) weaken_etag(response);
}

void encode(const Request& request, Response& response) {
  const Found found = find_fields(response);
  if (found.must_stay || !content::is_compressible(found.content_type)) return;
  if (!found.vary) add_vary(response);
  const std::optional<Coding> coding = best_coding(request);
  if (!coding || !content::has_room_to_encode()) return;
  encode_body(request, response, *coding);
  weaken_etag(response);
  if (found.accept_ranges) response.remove("Accept-Ranges");
  response.add("Content-Encoding", content::coding_name(*coding));
}

}  // namespace

Middleware compression(CompressionOptions options) {
  const auto after = [bytes_min = options.bytes_min](Request& request, Response& response) {
    if (!content::has_codings()) return;
    const int status = response.status();
    if (status == 304) return change_not_modified(request, response);
    const bool has_bytes = std::holds_alternative<std::string>(response.body()) ||
                           std::holds_alternative<Response::Streamed>(response.body());
    if (!has_bytes || !http::may_have_content(status) || status == 206) return;
    const std::optional<std::uint64_t> size = response.size();
    if (size && (*size == 0 || *size < bytes_min)) return;
    encode(request, response);
  };
  return after;
}

}  // namespace h2server
