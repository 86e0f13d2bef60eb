// AssumeRoleWithWebIdentity: what is sent to an STS, and what it answers. Pure functions, any
// thread.
//
// No secret gets into a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "content/s3/credentials.h"
#include "h2server/result.h"

namespace h2server::content::s3 {

// The text of a token file without the space around it. The error says what is wrong.
Result<std::string, std::string> web_identity_token(std::string_view text);

// The STS of AWS for a region; empty: "us-east-1".
std::string sts_of_aws(std::string_view region);

// The body of a POST to the STS, of the type application/x-www-form-urlencoded. It is not signed:
// the token is what proves the identity.
std::string assume_role_form(const WebIdentity& identity, std::string_view token);

struct AssumedRole {
  Credentials credentials;
  std::int64_t expires_s = 0;  // since 1970
};
// Of a response with the status 200. The error says what is missing or wrong in it.
Result<AssumedRole, std::string> assumed_role(std::string_view body);

// Of another response: a reason for the log. A message that repeats a part of the token is left
// out.
std::string assume_role_refusal(int status, std::string_view body, std::string_view token);

}  // namespace h2server::content::s3
