// Payload: the body of a request that writes, with its digest for the signature, and its checksum.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content::s3 {

// Of no bytes.
inline constexpr std::string_view no_body_sha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Payload {
  std::shared_ptr<const std::string> bytes;
  std::string sha256 = {};  // 64 digits
  std::string crc32c = {};  // see checksums.h
};

// Computes the two, of a large body on another thread. Fails with Kind::stopped.
Task<StoreResult<Payload>> make_payload(std::string bytes);

}  // namespace h2server::content::s3
