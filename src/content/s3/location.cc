#include "content/s3/location.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/host_map.h"
#include "base/text/percent_encoding.h"
#include "base/text/text.h"
#include "content/names/object_key.h"
#include "http/fields/target.h"

namespace h2server::content::s3 {

namespace {

constexpr std::size_t bucket_bytes_max = 255;  // AWS allows 63 today, and had 255 before
constexpr std::size_t region_bytes_max = 64;

bool is_bucket(std::string_view name) noexcept {
  constexpr auto is_allowed = [](char c) {
    return base::is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= bucket_bytes_max &&
         std::ranges::all_of(name, is_allowed) && base::is_alphanumeric(name.front()) &&
         name.find("..") == name.npos;
}

// RFC 1123, 2.1, in lower case: hosts have no others.
bool is_host_label(std::string_view name) noexcept {
  constexpr auto is_allowed = [](char c) {
    return base::is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
  };
  return name.size() <= 63 && std::ranges::all_of(name, is_allowed) && name.back() != '-';
}

// It is a part of the signature's scope, and of AWS's host name. OpenStack's is "RegionOne".
bool is_region(std::string_view name) noexcept {
  constexpr auto is_allowed = [](char c) {
    return base::is_alphanumeric(c) || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= region_bytes_max && std::ranges::all_of(name, is_allowed);
}

// An address has no names below it.
bool is_address(std::string_view host) noexcept {
  constexpr auto is_part = [](char c) { return base::is_digit(c) || c == '.'; };
  return host.starts_with('[') || std::ranges::all_of(host, is_part);
}

struct Endpoint {
  std::string_view scheme;
  std::string_view authority;
};

Result<Endpoint, std::string> parse_endpoint(std::string_view url) {
  Endpoint endpoint;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (url.starts_with(scheme)) endpoint.scheme = scheme;
  }
  std::string_view authority = url.substr(endpoint.scheme.size());
  if (authority.ends_with('/')) authority.remove_suffix(1);
  const bool named = !endpoint.scheme.empty() && http::parse_authority(authority).has_value();
  // The URL is not repeated: it may have a password.
  if (!named) return std::unexpected("the endpoint must be http://HOST:PORT or https://HOST:PORT");
  endpoint.authority = authority;
  return endpoint;
}

struct Place {
  std::string_view bucket;
  std::string prefix;
};

Result<Place, std::string> parse_place(std::string_view text) {
  constexpr std::string_view scheme = "s3://";
  if (!text.starts_with(scheme)) return std::unexpected("the place must be s3://BUCKET/PREFIX");
  text.remove_prefix(scheme.size());
  Place place{.bucket = text.substr(0, text.find('/')), .prefix = {}};
  if (!is_bucket(place.bucket)) {
    return std::unexpected(fmt::format("\"{}\" is not the name of a bucket", place.bucket));
  }
  text.remove_prefix(std::min(place.bucket.size() + 1, text.size()));
  if (text.empty()) return place;
  if (text.ends_with('/')) text.remove_suffix(1);
  if (!is_object_key(text) || text.size() + 1 >= key_bytes_max) {
    return std::unexpected(fmt::format("\"{}\" is not the prefix of keys", text));
  }
  place.prefix.append(text) += '/';
  return place;
}

}  // namespace

Result<Location, std::string> make_location(const LocationOptions& options) {
  Result<Place, std::string> place = parse_place(options.place);
  if (!place) return std::unexpected(std::move(place.error()));
  const std::string_view region = options.region.empty() ? "us-east-1" : options.region;
  if (!is_region(region)) return std::unexpected(fmt::format("\"{}\" is not a region", region));
  const std::string_view china = region.starts_with("cn-") ? ".cn" : "";
  const std::string of_aws = fmt::format("https://s3.{}.amazonaws.com{}", region, china);
  const bool given = !options.endpoint.empty();
  const auto endpoint = parse_endpoint(given ? options.endpoint : std::string_view(of_aws));
  if (!endpoint) return std::unexpected(endpoint.error());
  const bool dots = place->bucket.find('.') != place->bucket.npos;
  const Style style = options.style.value_or(
      given || dots || !is_host_label(place->bucket) ? Style::path : Style::host);
  if (style == Style::host && is_address(base::host_of(endpoint->authority))) {
    return std::unexpected("an endpoint that is an address has no hosts for buckets");
  }
  if (style == Style::host && !is_host_label(place->bucket)) {
    return std::unexpected(
        fmt::format("the bucket \"{}\" can't be a part of a host's name", place->bucket));
  }
  Location location{.bucket = std::string(place->bucket),
                    .prefix = std::move(place->prefix),
                    .region = std::string(region),
                    .base_url = {},
                    .encrypted = endpoint->scheme == "https://"};
  location.base_url =
      style == Style::path
          ? fmt::format("{}{}/{}/", endpoint->scheme, endpoint->authority, location.bucket)
          : fmt::format("{}{}.{}/", endpoint->scheme, location.bucket, endpoint->authority);
  return location;
}

std::optional<std::string> object_url(const Location& location, std::string_view key) {
  if (location.prefix.size() + key.size() > key_bytes_max || !is_object_key(key))
    return std::nullopt;
  std::string url = location.base_url;
  base::append_percent_encoded(url, location.prefix, base::Slashes::kept);
  base::append_percent_encoded(url, key, base::Slashes::kept);
  return url;
}

std::string with_query(std::string url, std::span<const Parameter> parameters) {
  ASSERT(std::ranges::is_sorted(parameters, {}, &Parameter::name));
  char separator = '?';
  for (const Parameter& parameter : parameters) {
    url.append(1, std::exchange(separator, '&')).append(parameter.name) += '=';
    base::append_percent_encoded(url, parameter.value, base::Slashes::encoded);
  }
  return url;
}

std::optional<std::string> list_url(const Location& location, const ListOptions& options) {
  if (!is_key_prefix(options.prefix)) return std::nullopt;
  const std::string prefix = location.prefix + options.prefix;
  if (prefix.size() > key_bytes_max) return std::nullopt;
  std::vector<Parameter> parameters;
  if (!options.after.empty()) parameters.push_back({"continuation-token", options.after});
  parameters.push_back({"delimiter", "/"});
  parameters.push_back({"encoding-type", "url"});
  parameters.push_back({"list-type", "2"});
  parameters.push_back({"max-keys", fmt::format("{}", options.entries_max)});
  parameters.push_back({"prefix", prefix});
  return with_query(location.base_url, parameters);
}

}  // namespace h2server::content::s3
