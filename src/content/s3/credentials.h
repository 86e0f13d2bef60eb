// Credentials of an S3 store: from the environment, or from a profile of AWS's credentials file.
//
// No secret gets into a message.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "h2server/result.h"

namespace h2server::content::s3 {

struct Credentials {
  std::string key_id;
  std::string secret;
  std::string session_token = {};  // of temporary credentials; else empty

  bool operator==(const Credentials&) const = default;
};
using CredentialsRef = std::shared_ptr<const Credentials>;  // not null

// Reads the text of a credentials file. The error says what is wrong or missing, without the file's
// name. Pure.
Result<Credentials, std::string> parse_profile(std::string_view text, std::string_view profile);

struct CredentialsOptions {
  Credentials given = {};  // used if `key_id` is not empty
  std::string file = {};   // otherwise read
  std::string profile = "default";
};

// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE
// (default: ~/.aws/credentials) and AWS_PROFILE. The error names the variable.
Result<CredentialsOptions, std::string> credentials_options_of_environment();

// Any thread.
class CredentialsSource {
 public:
  explicit CredentialsSource(CredentialsOptions options) : options_(std::move(options)) {}

  // Returns what the file has now: its stamp is looked at once a minute, `now_s` being any clock in
  // seconds. Credentials that were read before stay in use while the file can't be read. May block
  // on the disk. The error says what to do.
  Result<CredentialsRef, std::string> current(std::int64_t now_s);

 private:
  // Of the file when it was read.
  struct Stamp {
    std::int64_t modified_ns = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    bool operator==(const Stamp&) const = default;
  };
  // With the lock held.
  Result<CredentialsRef, std::string> read();

  const CredentialsOptions options_;
  std::mutex mutex_;  // for all below
  std::shared_ptr<const Credentials> credentials_;
  Stamp stamp_;
  std::int64_t looked_s_ = 0;
};

}  // namespace h2server::content::s3
