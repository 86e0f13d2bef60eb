#include "content/coding/coding.h"

#include <algorithm>

#include "base/assert.h"
#include "base/text/text.h"

namespace h2server::content {

namespace {

// Besides text/*, +json, +xml and +text. Sorted by no rule: the common ones come first.
constexpr auto compressible_types = std::to_array<std::string_view>({
    "application/json",
    "application/javascript",
    "application/xml",
    "application/wasm",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/json-seq",
    "application/x-javascript",
    "application/ecmascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/graphql",
    "application/rtf",
    "application/x-tar",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "font/ttf",
    "font/otf",
    "font/collection",
    "image/bmp",
    "image/vnd.microsoft.icon",
    "image/x-icon",
});

bool ends_with_ignoring_case(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() &&
         base::equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

}  // namespace

std::string_view coding_name(Coding coding) noexcept {
  switch (coding) {
    case Coding::zstd:
      return "zstd";
    case Coding::br:
      return "br";
    case Coding::gzip:
      return "gzip";
  }
  ASSERT(!"a coding");
  return {};
}

std::string_view coding_suffix(Coding coding) noexcept {
  switch (coding) {
    case Coding::zstd:
      return ".zst";
    case Coding::br:
      return ".br";
    case Coding::gzip:
      return ".gz";
  }
  ASSERT(!"a coding");
  return {};
}

std::string compress(std::string_view bytes, Coding coding) {
  std::string out;
  out.reserve(bytes.size() / 3 + 64);  // text becomes that small or smaller
  make_encoder(coding, bytes.size())->encode(bytes, Encoder::Until::end, out);
  return out;
}

bool is_compressible(std::string_view media_type) noexcept {
  const std::string_view type = base::trim(media_type.substr(0, media_type.find(';')));
  if (base::equals_ignoring_case(type.substr(0, 5), "text/"))
    return !base::equals_ignoring_case(type, "text/event-stream");
  for (const std::string_view end : {"+json", "+xml", "+text"}) {
    if (ends_with_ignoring_case(type, end)) return true;
  }
  return std::ranges::any_of(compressible_types, [type](std::string_view one) {
    return base::equals_ignoring_case(type, one);
  });
}

}  // namespace h2server::content
