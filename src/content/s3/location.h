// Location: where the objects of a site are in an S3 store, and the URLs of requests for them.
//
// URLs are canonical in the sense of AWS Signature Version 4: paths and queries are encoded once,
// and queries are sorted, so a signer may take them as they stand. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content::s3 {

// Of a bucket's address.
enum class Style : std::uint8_t {
  path,  // https://HOST/BUCKET/KEY
  host,  // https://BUCKET.HOST/KEY
};

struct LocationOptions {
  std::string_view place = {};     // "s3://BUCKET" or "s3://BUCKET/PREFIX"
  std::string_view endpoint = {};  // "https://HOST:PORT"; empty: that of AWS for the region
  std::string_view region = {};    // empty: "us-east-1"
  // By default `host` for AWS, and `path` for given endpoints and for buckets with a "." in their
  // name, which certificates of AWS don't cover.
  std::optional<Style> style = {};
};

struct Location {
  std::string bucket;
  std::string prefix;  // of all keys; empty, or ends in "/"
  std::string region;
  std::string base_url;   // of the bucket: what keys are appended to; ends in "/"
  bool encrypted = true;  // https
};

struct Parameter {
  std::string_view name;
  std::string value = {};
};

// The error says what is wrong with which of the options, without the option's name.
Result<Location, std::string> make_location(const LocationOptions& options);

// Returns nullopt for what is no key, see h2server/store.h. The prefix counts.
std::optional<std::string> object_url(const Location& location, std::string_view key);
// Returns the URL with a query. The parameters are sorted by name.
std::string with_query(std::string url, std::span<const Parameter> parameters);
// Of ListObjectsV2. Returns nullopt for what is no prefix of keys.
std::optional<std::string> list_url(const Location& location, const ListOptions& options);

}  // namespace h2server::content::s3
