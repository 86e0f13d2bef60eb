#include "content/s3/web_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text/percent_encoding.h"
#include "base/text/text.h"
#include "content/s3/documents.h"
#include "content/xml/xml.h"

namespace h2server::content::s3 {

namespace {

constexpr XmlLimits limits{.bytes_max = 64 * 1024, .depth_max = 8, .nodes_max = 256};

void append_parameter(std::string& form, std::string_view name, std::string_view value) {
  form.append("&").append(name) += '=';
  base::append_percent_encoded(form, value, base::Slashes::encoded);
}

// The parts of a JSON Web Token are divided by dots (RFC 7519, 3). Short ones are no secrets.
bool repeats_token(std::string_view message, std::string_view token) {
  constexpr std::size_t secret_bytes_min = 8;
  while (!token.empty()) {
    const std::size_t dot = std::min(token.find('.'), token.size());
    if (dot >= secret_bytes_min && message.contains(token.substr(0, dot))) return true;
    token.remove_prefix(std::min(dot + 1, token.size()));
  }
  return false;
}

}  // namespace

Result<std::string, std::string> web_identity_token(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return std::unexpected("the token file is empty");
  const std::string_view token = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  const bool sound = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!sound) return std::unexpected("the token file has no token");
  return std::string(token);
}

std::string sts_of_aws(std::string_view region) {
  if (region.empty()) region = "us-east-1";
  return fmt::format("https://sts.{}.amazonaws.com{}", region,
                     region.starts_with("cn-") ? ".cn" : "");
}

std::string assume_role_form(const WebIdentity& identity, std::string_view token) {
  std::string form = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15";
  append_parameter(form, "RoleArn", identity.role);
  append_parameter(form, "RoleSessionName", identity.session_name);
  append_parameter(form, "WebIdentityToken", token);
  return form;
}

Result<AssumedRole, std::string> assumed_role(std::string_view body) {
  const Result<XmlNode, std::string_view> root = parse_xml(base::trim(body), limits);
  if (!root) return std::unexpected(std::string(root.error()));
  const XmlNode* const result = find_child(*root, "AssumeRoleWithWebIdentityResult");
  const XmlNode* const found = result != nullptr ? find_child(*result, "Credentials") : nullptr;
  if (found == nullptr) return std::unexpected("the response has no credentials");
  AssumedRole role{.credentials = {.key_id = std::string(text_of(*found, "AccessKeyId")),
                                   .secret = std::string(text_of(*found, "SecretAccessKey")),
                                   .session_token = std::string(text_of(*found, "SessionToken"))}};
  Result<void, std::string> sound = check_credentials(role.credentials);
  if (!sound) return std::unexpected(std::move(sound.error()));
  const std::optional<std::int64_t> expires_s = parse_time(text_of(*found, "Expiration"));
  if (!expires_s) return std::unexpected("the response does not say when the credentials expire");
  role.expires_s = *expires_s;
  return role;
}

std::string assume_role_refusal(int status, std::string_view body, std::string_view token) {
  std::string reason = fmt::format("status {}", status);
  const Result<XmlNode, std::string_view> root = parse_xml(base::trim(body), limits);
  const XmlNode* const error = root ? find_child(*root, "Error") : nullptr;
  if (error == nullptr) return reason;
  for (const auto& [name, separator] : {std::pair("Code", ", "), std::pair("Message", ": ")}) {
    const std::string text = printable(text_of(*error, name));
    if (!text.empty() && !repeats_token(text, token)) reason.append(separator).append(text);
  }
  return reason;
}

}  // namespace h2server::content::s3
