#include "content/uploads/resumable/tus_fields.h"

#include <algorithm>

#include "base/text/base64.h"
#include "base/text/text.h"
#include "content/storage/pending_files.h"

namespace h2server::content {

namespace {

// Returns the id in the path or URL of an upload; empty if it is none.
std::string_view id_in(std::string_view url, std::string_view base) {
  const std::size_t slash = url.rfind('/');
  if (slash == std::string_view::npos || !url.substr(0, slash).ends_with(base)) return {};
  const std::string_view id = url.substr(slash + 1);
  return is_upload_id(id) ? id : std::string_view();
}

template <class Digest>
std::optional<ExpectedDigest> expect(std::string_view bytes) {
  typename Digest::Value value{};
  if (bytes.size() != value.size()) return std::nullopt;
  std::ranges::copy(bytes, value.begin());
  return ExpectedDigest::of<Digest>(value);
}

}  // namespace

std::optional<UploadConcat> parse_upload_concat(std::string_view value, std::string_view base,
                                                std::size_t parts_max) {
  constexpr std::string_view final = "final;";
  if (value == "partial") return UploadConcat{Concatenation::partial, {}};
  if (!value.starts_with(final)) return std::nullopt;
  value.remove_prefix(final.size());
  UploadConcat concat{Concatenation::final, {}};
  while (!value.empty()) {
    const std::size_t space = std::min(value.find(' '), value.size());
    const std::string_view url = value.substr(0, space);
    value.remove_prefix(std::min(space + 1, value.size()));
    if (url.empty()) continue;
    const std::string_view id = id_in(url, base);
    if (id.empty() || concat.ids.size() == parts_max) return std::nullopt;
    // Named twice, it would be stored twice, but was counted once.
    if (std::ranges::find(concat.ids, id) != concat.ids.end()) return std::nullopt;
    concat.ids.emplace_back(id);
  }
  if (concat.ids.empty()) return std::nullopt;
  return concat;
}

std::optional<ExpectedDigest> parse_upload_checksum(std::string_view value) {
  const std::size_t space = std::min(value.find(' '), value.size());
  const std::string_view algorithm = value.substr(0, space);
  const std::optional<std::string> bytes = base::decode_base64(base::trim(value.substr(space)));
  if (!bytes) return std::nullopt;
  if (algorithm == "sha1") return expect<Sha1>(*bytes);
  if (algorithm == "sha256") return expect<Sha256>(*bytes);
  if (algorithm == "sha512") return expect<Sha512>(*bytes);
  return std::nullopt;
}

}  // namespace h2server::content
