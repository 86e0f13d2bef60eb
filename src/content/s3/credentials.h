// Credentials of an S3 store: from the environment, from a profile of AWS's credentials file, or
// for a web identity, by who asks an STS for them.
//
// No secret gets into a message.
#pragma once

#include <cstdint>
#include <functional>
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

// Who asks for temporary credentials: whoever has the token that is in a file, such as a pod of
// Kubernetes.
struct WebIdentity {
  std::string role = {};          // its ARN; empty: there is no web identity
  std::string token_file = {};    // renewed by another program
  std::string session_name = {};  // in the logs of the STS
};

// Reads the text of a credentials file. The error says what is wrong or missing, without the file's
// name. Pure.
Result<Credentials, std::string> parse_profile(std::string_view text, std::string_view profile);

// Adds what the section of a credentials or configuration file has to what is empty. Pure.
void complete_identity(WebIdentity& identity, std::string_view text, std::string_view section);

// Checks that they can be sent. The error says what is malformed, without its value. Pure.
Result<void, std::string> check_credentials(const Credentials& found);

// Reads a file of at most 1 MiB. Blocks. The error says why it can't be read.
Result<std::string, std::string> read_text_file(const std::string& path);

struct CredentialsOptions {
  Credentials given = {};     // used if `key_id` is not empty
  WebIdentity identity = {};  // otherwise, if it has a role; `ask` gets credentials for it
  std::function<Result<CredentialsRef, std::string>()> ask = {};  // any thread
  std::string file = {};                                          // otherwise read
  std::string profile = "default";
};

// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE
// (default: ~/.aws/credentials) and AWS_PROFILE; AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and
// AWS_ROLE_SESSION_NAME, or the keys of that name in the profile, also of AWS_CONFIG_FILE (default:
// ~/.aws/config). `ask` is left empty. The error names the variable. Blocks on the disk.
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
