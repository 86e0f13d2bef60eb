// Signatures of requests to an S3 store: AWS Signature Version 4, "Authorization Header" of
// Amazon's S3 API reference. libcurl has them too, and signs "+" in a query wrongly in 8.14.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "content/s3/credentials.h"

namespace h2server::content::s3 {

struct RequestToSign {
  std::string_view method;              // "GET"
  std::string_view url;                 // canonical, see location.h
  std::span<const std::string> fields;  // "Name: value", with x-amz-content-sha256
  std::string_view region;
};

// Returns the fields to send: the given ones, and those of the signature. A pure function.
std::vector<std::string> sign(const RequestToSign& request, const Credentials& credentials,
                              std::chrono::sys_seconds now);

}  // namespace h2server::content::s3
