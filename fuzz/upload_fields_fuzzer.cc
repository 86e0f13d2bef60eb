// Fuzzer of the fields by which clients describe uploads: those of tus, of the draft for resumable
// uploads and of RFC 9530. An input is the value of each of them.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text/base64.h"
#include "content/names/file_name.h"
#include "content/storage/upload_path.h"
#include "content/uploads/area/resumable_fields.h"
#include "content/uploads/resumable/tus_fields.h"
#include "content/uploads/resumable/upload_metadata.h"
#include "fuzzer.h"
#include "http/fields/digest_fields.h"
#include "http/fields/syntax.h"
#include "require.h"
#include "upload_fields_reference.h"

namespace h2server::fuzz {

namespace {

using namespace content;

constexpr std::size_t parts_max = 4;
constexpr std::size_t item_bytes_max = 200;  // of those that is_item() looks at

template <std::size_t size>
std::string base64_of(const std::array<unsigned char, size>& bytes) {
  return base::encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

template <std::size_t size>
std::string without_padding(const std::optional<std::array<unsigned char, size>>& bytes) {
  std::string text = bytes ? base64_of(*bytes) : std::string();
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

// --- names --------------------------------------------------------------------------------------

// Whatever a client calls its file, nothing outside the directory and nothing hidden gets the name.
void check_name(std::string_view claimed) {
  for (const bool folders : {false, true}) {
    const std::optional<std::string> path = safe_upload_path(claimed, folders);
    if (!path) continue;
    const std::string inside = "/" + *path + "/";
    for (const std::string_view part : {"//", "/.", "/h2_tmp_", "\\"}) {
      require(!inside.contains(part), "a safe path names nothing hidden");
    }
    require(path->find('\0') == std::string::npos, "a path has no end within");
    require(folders || !path->contains('/'), "a name is no path");
    require_same(safe_upload_path(*path, folders).value_or("(none)"), *path, "a safe path is safe");
  }
}

void check_metadata(std::string_view value) {
  const std::optional<MetadataTexts> expected = metadata_by_reference(std::string(value));
  const std::optional<std::vector<UploadMetadata>> metadata = parse_upload_metadata(value);
  require(metadata.has_value() == expected.has_value(), "Upload-Metadata is read by both or none");
  if (!metadata) return;
  require(metadata->size() == expected->size(), "and has as many keys");
  for (std::size_t i = 0; i < metadata->size(); ++i) {
    require_same((*metadata)[i].key, (*expected)[i].first, "a key");
    require_same(base::encode_base64((*metadata)[i].value), (*expected)[i].second, "a value");
  }
  check_name(file_name_of(*metadata));
}

// --- tus ----------------------------------------------------------------------------------------

void check_concat(std::string_view value) {
  const auto expected = concat_by_reference(std::string(value), parts_max);
  const auto concat = parse_upload_concat(value, "/uploads", parts_max);
  require(concat.has_value() == expected.has_value(), "Upload-Concat is read by both or none");
  if (!concat) return;
  require(concat->ids == *expected, "and names the same uploads");
  const bool partial = concat->kind == Concatenation::partial;
  require(partial || concat->kind == Concatenation::final, "it has a kind");
  require(partial == concat->ids.empty(), "a final upload has parts, a partial one none");
}

void check_checksum(std::string_view value) {
  const auto expected = checksum_by_reference(std::string(value));
  std::optional<ExpectedDigest> checksum = parse_upload_checksum(value);
  require(checksum.has_value() == expected.has_value(), "Upload-Checksum is read by both or none");
  if (!checksum) return;
  const std::string written = expected->first + " " + expected->second;
  require(parse_upload_checksum(written).has_value(), "what is written can be read");
  // Of the seeds, some have the digests of "abc".
  static const std::vector<std::string> right = {
      "sha1 qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "sha256 ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
      "sha512 3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/"
      "uu9RU1EI2Q86A4qmslPpUyknw=="};
  checksum->update("ab");
  checksum->update("c");
  require(checksum->matches() == (std::ranges::find(right, written) != right.end()),
          "a checksum holds for its content alone");
}

// The digest of the input holds for the input, and for nothing else.
void check_own_digest(std::string_view input) {
  Sha256 digest;
  digest.update(input);
  const std::string text = base64_of(digest.finish());
  std::optional<ExpectedDigest> same = parse_upload_checksum("sha256 " + text);
  std::optional<ExpectedDigest> longer = parse_upload_checksum("sha256 " + text);
  require(same && longer, "a checksum can be read");
  same->update(input.substr(0, input.size() / 2));
  same->update(input.substr(input.size() / 2));
  longer->update(input);
  longer->update("x");
  require(same->matches(), "a checksum holds for its content");
  require(!longer->matches(), "and for no other");
  const std::string field = "sha-256=:" + text + ":";
  const http::DigestFields found = http::parse_digest_field(field);
  require(found.sha256.has_value(), "a digest field can be read");
  require_same(http::digest_field(*found.sha256), field, "and written");
}

// --- structured fields --------------------------------------------------------------------------

void check_digests(std::string_view value) {
  const http::DigestFields found = http::parse_digest_field(value);
  require(!found.malformed || (!found.sha256 && !found.sha512), "a malformed field has no digests");
  if (!fits_reference(std::string(value))) return;
  const std::optional<DigestTexts> expected = digests_by_reference(std::string(value));
  require(found.malformed != expected.has_value(), "digests are read by both or none");
  if (!expected) return;
  require_same(without_padding(found.sha256), expected->sha256, "sha-256");
  require_same(without_padding(found.sha512), expected->sha512, "sha-512");
  require(found.other == expected->other, "other algorithms");
}

// What RFC 9651 takes for an integer or a boolean has that value. Beside that, parameters that are
// malformed are ignored as others are, and so are tabs.
void check_items(const std::string& value) {
  const std::optional<std::uint64_t> integer = parse_item_integer(value);
  const std::optional<std::string> digits = integer_by_reference(value);
  require(integer.has_value() == digits.has_value(), "an integer is read by both or none");
  if (integer) require(*integer == std::stoull(*digits), "and has the same value");
  const std::optional<bool> boolean = parse_item_boolean(value);
  const std::optional<std::string> digit = boolean_by_reference(value);
  require(boolean.has_value() == digit.has_value(), "a boolean is read by both or none");
  if (boolean) require_same(item_boolean(*boolean), "?" + *digit, "and has the same value");
  require(!integer || !boolean, "an item has one type");
  if (value.size() > item_bytes_max || !is_item(value)) return;
  const std::size_t first = value.find_first_not_of(' ');
  const bool is_boolean = value[first] == '?';
  const bool is_natural = value[first] >= '0' && value[first] <= '9' &&
                          value.substr(0, value.find(';')).find('.') == std::string::npos;
  require(boolean.has_value() == is_boolean, "each boolean of the RFC is one");
  require(integer.has_value() == is_natural, "each integer of the RFC is one");
}

void check_limits(const std::string& value) {
  const std::uint64_t number = parse_item_integer(value).value_or(0);
  const auto age = static_cast<std::int64_t>(number);
  const std::string limit = upload_limit(number, -age);
  const std::string size = number == 0 ? "" : "max-size=" + std::to_string(number) + ", ";
  require_same(limit, size + "max-age=0", "a limit that is over");
  require(upload_limit(0, age) == "max-age=" + std::to_string(age), "no limit of the size");
  const http::DigestFields dictionary = http::parse_digest_field(limit);
  require(!dictionary.malformed && dictionary.other, "Upload-Limit is a dictionary");
}

}  // namespace

void check(std::string_view input) {
  check_own_digest(input);
  check_name(input);
  if (!std::ranges::all_of(input, http::is_field_value_character)) return;
  check_name(file_name_of_disposition(input));
  check_digests(input);
  if (!fits_reference(std::string(input))) return;
  check_metadata(input);
  if (input.size() > piece_bytes_max) return;
  check_concat(input);
  check_checksum(input);
  check_items(std::string(input));
  check_limits(std::string(input));
}

}  // namespace h2server::fuzz
