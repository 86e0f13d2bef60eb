#include "content/s3/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/text/text.h"
#include "content/s3/documents.h"
#include "content/xml/xml.h"
#include "http/fields/conditional.h"
#include "http/fields/date.h"
#include "http/fields/media_type.h"
#include "http/fields/syntax.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;

// --- fields -----------------------------------------------------------------------------------

bool is_field_value(std::string_view value) noexcept {
  return !value.empty() && std::ranges::all_of(value, http::is_field_value_character);
}

// Uploads by chunks leave the name of that coding, which is not one of the object, in some stores.
std::string without_aws_chunked(std::string_view codings) {
  std::string kept;
  http::for_each_element(codings, [&](std::string_view coding) {
    if (http::equals_ignoring_case(coding, "aws-chunked")) return;
    kept.append(kept.empty() ? "" : ", ").append(coding);
  });
  return kept;
}

std::vector<Response::Line> stored_fields(const AnswerHead& head) {
  std::vector<Response::Line> fields;
  for (const std::string_view name : {"Content-Encoding", "Content-Language", "Content-Disposition",
                                      "Cache-Control", "Expires"}) {
    const std::string_view found = head.find(name);
    std::string value =
        name == "Content-Encoding" ? without_aws_chunked(found) : std::string(found);
    if (is_field_value(value)) fields.push_back({std::string(name), std::move(value)});
  }
  return fields;
}

// Without the size.
ObjectInfo info_of(const AnswerHead& head) {
  ObjectInfo info;
  if (const auto tag = head.find("ETag"); http::is_strong_tag(tag)) info.etag = tag;
  // "now" matters to two-digit years, which no store writes.
  info.modified_s =
      std::max<std::int64_t>(http::parse_date(head.find("Last-Modified"), 0).value_or(0), 0);
  const std::string_view type = head.find("Content-Type");
  // What S3 has for objects that were stored without a type.
  if (type != "binary/octet-stream") {
    info.content_type = http::normal_media_type(type).value_or(std::string());
  }
  info.fields = stored_fields(head);
  return info;
}

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size = 0;
};

// RFC 9110, 14.4, with a range and a size.
std::optional<ContentRange> parse_content_range(std::string_view value) noexcept {
  constexpr std::string_view unit = "bytes ";
  if (!value.starts_with(unit)) return std::nullopt;
  value.remove_prefix(unit.size());
  const std::size_t dash = value.find('-');
  const std::size_t slash = value.find('/');
  if (dash == value.npos || slash == value.npos || slash < dash) return std::nullopt;
  const auto first = base::parse_decimal(value.substr(0, dash));
  const auto last = base::parse_decimal(value.substr(dash + 1, slash - dash - 1));
  const auto size = base::parse_decimal(value.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return std::nullopt;
  return ContentRange{*first, *last, *size};
}

// --- errors -----------------------------------------------------------------------------------

struct ErrorText {
  std::string code = {};
  std::string message = {};
  std::uint64_t object_size = 0;  // of 416
};

ErrorText read_error(std::string_view body) {
  const XmlLimits limits{
      .bytes_max = AnswerLimits::error_bytes_max, .depth_max = 8, .nodes_max = 256};
  const Result<XmlNode, std::string_view> root = parse_xml(base::trim(body), limits);
  if (!root || root->name.local != "Error") return {};
  return {.code = printable(text_of(*root, "Code")),
          .message = printable(text_of(*root, "Message")),
          .object_size = base::parse_decimal(text_of(*root, "ActualObjectSize")).value_or(0)};
}

// What the parts of an object, or a body that was sent, are refused for.
bool is_about_content(std::string_view code) noexcept {
  constexpr std::array codes = {"BadDigest",
                                "EntityTooLarge",
                                "EntityTooSmall",
                                "IncompleteBody",
                                "InvalidDigest",
                                "InvalidPart",
                                "InvalidPartOrder",
                                "MalformedXML",
                                "RequestTimeout",
                                "XAmzContentSHA256Mismatch",
                                "XAmzContentChecksumMismatch"};
  return std::ranges::find(codes, code) != codes.end();
}

// What no other try can mend: the parts or the body are wrong, or the store's disk is full.
bool is_lasting(int status, std::string_view code) noexcept {
  constexpr std::array codes = {"EntityTooLarge", "EntityTooSmall", "InvalidPartOrder",
                                "MalformedXML", "NotImplemented"};
  return status == 501 || status == 507 || std::ranges::find(codes, code) != codes.end();
}

// The codes are in the list of errors of the S3 API. Answers to HEAD have a status only.
Kind kind_of(int status, std::string_view code) noexcept {
  // While a node of MinIO is away, it does not find parts that are there.
  if (code == "SlowDown" || code == "InvalidPart") return Kind::busy;
  if (code == "PreconditionFailed" || code == "ConditionalRequestConflict") {
    return Kind::precondition;
  }
  if (is_about_content(code)) return Kind::failed;
  switch (status) {
    case 200:  // see is_error_text()
      return code == "NoSuchUpload" ? Kind::absent : Kind::failed;
    case 304:
      return Kind::not_modified;
    case 400:
      return code == "KeyTooLongError" ? Kind::absent : Kind::denied;
    case 404:
      return code == "NoSuchBucket" ? Kind::denied : Kind::absent;
    case 412:
      return Kind::precondition;
    case 416:
      return Kind::unsatisfiable;
    case 429:
    case 503:
      return Kind::busy;
    case 409:  // what a request of another client is changing
    case 499:  // of a MinIO that ends, which takes its own end for the client's
      return Kind::failed;
    default:
      return status < 500 ? Kind::denied : Kind::failed;
  }
}

// RFC 9110, 10.2.3. Dates need a clock; stores write seconds.
std::chrono::milliseconds retry_after(const AnswerHead& head) noexcept {
  constexpr std::uint64_t seconds_max = 3600;
  const std::uint64_t seconds = base::parse_decimal(head.find("Retry-After")).value_or(0);
  return std::chrono::seconds(std::min(seconds, seconds_max));
}

std::string reason_of(const AnswerHead& head, const ErrorText& error) {
  std::string reason = fmt::format("status {}", head.status);
  if (!error.code.empty()) reason.append(", ").append(error.code);
  if (!error.message.empty()) reason.append(": ").append(error.message);
  const std::string_view region = head.find("x-amz-bucket-region");
  // The usual cause of these, which the message does not name.
  if (!region.empty() && (head.status == 301 || head.status == 400)) {
    reason.append(" (the bucket is in the region ").append(printable(region)).append(")");
  }
  return reason;
}

// --- lists ------------------------------------------------------------------------------------

// Encoded as in a form: "+" is a space. Returns nullopt for a "%" that begins no byte.
std::optional<std::string> decode_key(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  while (!text.empty()) {
    if (text.front() != '%') {
      key += text.front() == '+' ? ' ' : text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::optional<char> byte = base::decode_percent(text);
    if (!byte) return std::nullopt;
    key += *byte;
    text.remove_prefix(3);
  }
  return key;
}

class ListReader {
 public:
  ListReader(const XmlNode& root, std::string_view prefix)
      : root_(root), prefix_(prefix), encoded_(text_of(root, "EncodingType") == "url") {}

  Result<ListPage, std::string_view> read() {
    for (const XmlNode& child : root_.children) {
      if (child.name.local == "Contents") add_object(child);
      if (child.name.local == "CommonPrefixes") add_folder(child);
    }
    if (!problem_.empty()) return std::unexpected(problem_);
    if (text_of(root_, "IsTruncated") != "true") return std::move(page_);
    page_.next = text_of(root_, "NextContinuationToken");
    if (page_.next.empty()) return std::unexpected("a list that goes on has no token for it");
    return std::move(page_);
  }

 private:
  // Returns an empty name for what is none below the prefix, such as the object that some programs
  // make for a folder: its key is the prefix.
  std::string name_of(std::string_view text) {
    const std::optional<std::string> key = encoded_ ? decode_key(text) : std::string(text);
    if (!key || !key->starts_with(prefix_)) {
      problem_ = "a listed key does not begin with the prefix";
      return {};
    }
    std::string name = key->substr(prefix_.size());
    const std::size_t slash = name.find('/');
    const bool within = slash == name.npos || slash + 1 == name.size();
    return within && name != "." && name != ".." ? name : std::string();
  }
  void add_object(const XmlNode& node) {
    ListedObject object{.name = name_of(text_of(node, "Key")), .size = 0, .modified_s = 0};
    if (object.name.empty() || object.name.ends_with('/')) return;
    const auto size = base::parse_decimal(text_of(node, "Size"));
    if (!size) problem_ = "a listed object has no size";
    object.size = size.value_or(0);
    object.modified_s = parse_time(text_of(node, "LastModified")).value_or(0);
    page_.objects.push_back(std::move(object));
  }
  void add_folder(const XmlNode& node) {
    std::string name = name_of(text_of(node, "Prefix"));
    if (name.ends_with('/')) name.pop_back();
    if (!name.empty() && name != "." && name != "..") page_.folders.push_back(std::move(name));
  }

  const XmlNode& root_;
  const std::string_view prefix_;
  const bool encoded_;
  ListPage page_;
  std::string_view problem_;
};

}  // namespace

std::string_view AnswerHead::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(fields, [name](const Response::Line& line) {
    return base::equals_ignoring_case(line.name, name);
  });
  return found != fields.end() ? base::trim(found->value) : std::string_view();
}

Result<ObjectHead, std::string_view> object_head(const AnswerHead& head) {
  const auto length = base::parse_decimal(head.find("Content-Length"));
  ObjectHead object{.info = info_of(head), .first = 0, .count = 0};
  if (head.status == 200) {
    if (!length) return std::unexpected("the response has no Content-Length");
    object.count = object.info.size = *length;
    return object;
  }
  if (head.status != 206) return std::unexpected("the response has an unexpected status");
  const auto range = parse_content_range(head.find("Content-Range"));
  if (!range) return std::unexpected("the response has no valid Content-Range");
  object.info.size = range->size;
  object.first = range->first;
  object.count = range->last - range->first + 1;
  if (length && *length != object.count) {
    return std::unexpected("Content-Range and Content-Length contradict each other");
  }
  return object;
}

StoreError store_error(const AnswerHead& head, std::string_view body) {
  const ErrorText text = read_error(body);
  StoreError error{.kind = kind_of(head.status, text.code),
                   .retry_after = retry_after(head),
                   .lasting = is_lasting(head.status, text.code),
                   .info = {},
                   .reason = reason_of(head, text)};
  if (error.kind == Kind::not_modified) error.info = info_of(head);
  if (error.kind == Kind::unsatisfiable) error.info.size = text.object_size;
  return error;
}

bool is_error_text(std::string_view body) { return !read_error(body).code.empty(); }

bool may_be_retried(const StoreError& error) noexcept {
  return error.kind == Kind::busy || (error.kind == Kind::failed && !error.lasting);
}

bool refuses_checksum(const StoreError& error) noexcept {
  // The reason begins with the status and the code, see reason_of().
  return error.reason.starts_with("status 501") ||
         (error.reason.starts_with("status 400") && !error.reason.contains("ChecksumMismatch") &&
          (error.reason.contains("hecksum") || error.reason.contains("InvalidArgument")));
}

Result<ListPage, std::string_view> list_page(std::string_view body, std::string_view prefix) {
  const Result<XmlNode, std::string_view> root = parse_xml(body, answer_limits);
  if (!root) return std::unexpected(root.error());
  if (root->name.local != "ListBucketResult") return std::unexpected("the response is not a list");
  return ListReader(*root, prefix).read();
}

}  // namespace h2server::content::s3
