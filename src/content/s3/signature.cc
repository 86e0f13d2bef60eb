#include "content/s3/signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text/text.h"
#include "net/crypto/tls_hmac.h"
#include "net/crypto/tls_sha256.h"

namespace h2server::content::s3 {

namespace {

using CanonicalField = std::pair<std::string, std::string>;  // name in lower case, trimmed value

std::string hex(const net::Sha256Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

struct SignedTarget {
  std::string_view host;  // as in Host: without the scheme's own port
  std::string_view path;  // "/" at least
  std::string_view query;
};

SignedTarget target_of(std::string_view url) {
  const bool encrypted = url.starts_with("https://");
  url.remove_prefix(url.find("//") + 2);
  const std::size_t slash = url.find('/');
  ASSERT(slash != url.npos);
  SignedTarget target{.host = url.substr(0, slash), .path = url.substr(slash), .query = {}};
  const std::string_view usual_port = encrypted ? ":443" : ":80";
  if (target.host.ends_with(usual_port)) target.host.remove_suffix(usual_port.size());
  const std::size_t question = target.path.find('?');
  if (question != target.path.npos) {
    target.query = target.path.substr(question + 1);
    target.path = target.path.substr(0, question);
  }
  return target;
}

std::vector<CanonicalField> canonical_fields(std::span<const std::string> lines) {
  std::vector<CanonicalField> fields;
  for (const std::string_view line : lines) {
    const std::size_t colon = line.find(':');
    ASSERT(colon != line.npos);
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), base::to_lower);
    fields.emplace_back(std::move(name), base::trim(line.substr(colon + 1)));
  }
  std::ranges::sort(fields);
  return fields;
}

std::string_view value_of(const std::vector<CanonicalField>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &CanonicalField::first);
  ASSERT(found != fields.end());
  return found->second;
}

}  // namespace

std::vector<std::string> sign(const RequestToSign& request, const Credentials& credentials,
                              std::chrono::sys_seconds now) {
  const SignedTarget target = target_of(request.url);
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", now);
  const std::string_view day = std::string_view(time).substr(0, 8);
  std::vector<std::string> lines(request.fields.begin(), request.fields.end());
  lines.push_back(fmt::format("Host: {}", target.host));
  lines.push_back(fmt::format("x-amz-date: {}", time));
  if (!credentials.session_token.empty()) {
    lines.push_back(fmt::format("x-amz-security-token: {}", credentials.session_token));
  }

  const std::vector<CanonicalField> fields = canonical_fields(lines);
  std::string canonical = fmt::format("{}\n{}\n{}\n", request.method, target.path, target.query);
  std::string names;
  for (const auto& [name, value] : fields) {
    canonical += fmt::format("{}:{}\n", name, value);
    names += names.empty() ? name : ";" + name;
  }
  canonical += fmt::format("\n{}\n{}", names, value_of(fields, "x-amz-content-sha256"));

  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, request.region);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, hex(net::sha256(canonical)));
  std::vector<unsigned char> secret{'A', 'W', 'S', '4'};
  secret.insert(secret.end(), credentials.secret.begin(), credentials.secret.end());
  net::Sha256Digest key = net::hmac_sha256(secret, day);
  key = net::hmac_sha256(key, request.region);
  key = net::hmac_sha256(key, "s3");
  key = net::hmac_sha256(key, "aws4_request");
  lines.push_back(fmt::format(
      "Authorization: AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
      credentials.key_id, scope, names, hex(net::hmac_sha256(key, to_sign))));
  return lines;
}

}  // namespace h2server::content::s3
