#include "content/s3/write_answers.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "content/s3/documents.h"
#include "content/xml/xml.h"
#include "http/fields/conditional.h"

namespace h2server::content::s3 {

namespace {

// Some stores leave out the quotes in documents. Returns "" for what is no tag.
std::string quoted_tag(std::string_view text) {
  text = base::trim(text);
  std::string tag = text.starts_with('"') ? std::string(text) : fmt::format("\"{}\"", text);
  return tag.size() > 2 && http::is_strong_tag(tag) ? tag : std::string();
}

Result<XmlNode, std::string_view> read_document(std::string_view body, std::string_view name) {
  // AWS sends spaces while it is at work.
  Result<XmlNode, std::string_view> root = parse_xml(base::trim(body), answer_limits);
  if (root && root->name.local != name) {
    return std::unexpected("the response is another document");
  }
  return root;
}

}  // namespace

Result<std::string, std::string_view> written_tag(const AnswerHead& head) {
  const std::string_view tag = head.find("ETag");
  if (!http::is_strong_tag(tag)) return std::unexpected("the response has no ETag");
  return std::string(tag);
}

bool keeps_whole_checksum(const AnswerHead& head) {
  return base::equals_ignoring_case(head.find("x-amz-checksum-algorithm"), "CRC32C") &&
         base::equals_ignoring_case(head.find("x-amz-checksum-type"), "FULL_OBJECT");
}

Result<std::string, std::string_view> begun_id(std::string_view body) {
  const auto root = read_document(body, "InitiateMultipartUploadResult");
  if (!root) return std::unexpected(root.error());
  const std::string_view id = text_of(*root, "UploadId");
  if (id.empty()) return std::unexpected("the response has no UploadId");
  return std::string(id);
}

Result<PartList, std::string_view> part_list(std::string_view body) {
  const auto root = read_document(body, "ListPartsResult");
  if (!root) return std::unexpected(root.error());
  PartList list;
  for (const XmlNode& child : root->children) {
    if (child.name.local != "Part") continue;
    const auto number = base::parse_decimal(text_of(child, "PartNumber"));
    const auto size = base::parse_decimal(text_of(child, "Size"));
    const bool valid = number && *number > 0 && *number <= PartLimits::number_max && size;
    const unsigned last = list.parts.empty() ? 0 : list.parts.back().number;
    if (!valid || *number <= last) return std::unexpected("a listed part is not valid");
    StoredPart part{.number = static_cast<unsigned>(*number), .size = *size};
    part.etag = quoted_tag(text_of(child, "ETag"));
    part.checksum = text_of(child, "ChecksumCRC32C");
    part.modified_s = parse_time(text_of(child, "LastModified")).value_or(0);
    list.parts.push_back(std::move(part));
  }
  if (text_of(*root, "IsTruncated") != "true") return list;
  if (list.parts.empty()) return std::unexpected("a list that goes on has no parts");
  list.next = list.parts.back().number;
  return list;
}

std::string completion(std::span<const StoredPart> parts) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const StoredPart& part : parts) {
    text += "<Part><ETag>";
    append_xml(text, part.etag);
    text += "</ETag>";
    if (!part.checksum.empty()) {
      text += "<ChecksumCRC32C>";
      append_xml(text, part.checksum);
      text += "</ChecksumCRC32C>";
    }
    text += fmt::format("<PartNumber>{}</PartNumber></Part>", part.number);
  }
  text += "</CompleteMultipartUpload>";
  return text;
}

Result<std::string, std::string_view> completed_tag(std::string_view body) {
  const auto root = read_document(body, "CompleteMultipartUploadResult");
  if (!root) return std::unexpected(root.error());
  std::string tag = quoted_tag(text_of(*root, "ETag"));
  if (tag.empty()) return std::unexpected("the response has no ETag");
  return tag;
}

}  // namespace h2server::content::s3
