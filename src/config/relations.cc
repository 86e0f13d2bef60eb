#include "config/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "config/rules.h"
#include "server/schemes/scheme.h"

namespace h2server::config {

namespace {

const Assignment* find_in(const Assignments& all, const Option& option) noexcept {
  const auto found = std::ranges::find(all, &option, &Assignment::option);
  return found != all.end() ? &*found : nullptr;
}

// Adds a problem with an option, unless its value is wrong anyway.
void refuse(const Assignment& assignment, const std::string& text, Problems& problems) {
  if (!problems.has(assignment.place, assignment.option->key)) {
    problems.add(assignment.place, text);
  }
}

bool is_off(const Assignment& assignment) {
  return assignment.option->type == ValueType::flag && !assignment.values.empty() &&
         assignment.values.back() != "true" && assignment.values.back() != "on";
}

void check_scheme(const Given& given, const ServerOptions& server, Problems& problems) {
  const server::SchemeKind& kind = server::kind_of(server.scheme);
  if (!server::runs_on(kind, server.io)) {
    const Assignment* const asked =
        given.find("io") != nullptr ? given.find("io") : given.find("scheme");
    problems.add(asked != nullptr ? asked->place : Place{},
                 fmt::format("--scheme {} does not run on --io {}; see h2server --scheme help",
                             kind.name, server::name_of(server.io)));
  }
  if (const Assignment* const threads = given.find("threads"); threads && kind.per_connection) {
    refuse(*threads,
           fmt::format("--threads has no effect beside --scheme {}, where --connections-max "
                       "limits the connections; leave it out",
                       kind.name),
           problems);
  }
  for (const std::string_view key : {"queue-size", "when-full"}) {
    const Assignment* const found = given.find(key);
    if (found == nullptr || kind.queues) continue;
    refuse(*found, fmt::format("--{} is for buffered-pool, not for {}", key, kind.name), problems);
  }
}

// Refuses options without that on which they depend.
void check_needs(const Given& given, std::initializer_list<std::string_view> keys,
                 std::string_view needed, Problems& problems) {
  if (given.find(needed) != nullptr) return;
  for (const std::string_view key : keys) {
    const Assignment* const found = given.find(key);
    if (found != nullptr) refuse(*found, fmt::format("--{} needs --{}", key, needed), problems);
  }
}

void check_admin(const Given& given, const AdminSettings& admin, Problems& problems) {
  const Assignment* const address = given.find("admin");
  if (address == nullptr || admin.address.empty()) return;
  if (is_local(admin.address) || !admin.token.empty()) return;
  refuse(*address,
         fmt::format("--admin {} can be reached by others, so it needs --admin-token; or use "
                     "127.0.0.1, [::1] or unix:PATH",
                     admin.address),
         problems);
}

std::size_t count_of(const Assignment* assignment) {
  return assignment != nullptr ? assignment->values.size() : 0;
}

// Each certificate has a key, and at most one OCSP response.
void check_certificates(const Given& given, Problems& problems) {
  const Assignment* const cert = given.find("cert");
  const Assignment* const key = given.find("key");
  const Assignment* const ocsp = given.find("ocsp");
  const std::size_t certificates = std::max<std::size_t>(count_of(cert), 1);  // has a default
  const std::size_t keys = std::max<std::size_t>(count_of(key), 1);
  if (certificates != keys) {
    refuse(certificates > keys ? *cert : *key,
           fmt::format("there are {} --cert and {} --key; name one key for each certificate, in "
                       "their order",
                       count_of(cert), count_of(key)),
           problems);
  }
  if (ocsp == nullptr) return;
  if (cert == nullptr || given.find("self-signed") != nullptr) {
    refuse(*ocsp, "--ocsp is for certificates of --cert that an authority has signed", problems);
  } else if (ocsp->values.size() > certificates) {
    refuse(*ocsp, "there are more --ocsp than --cert; name one for each certificate", problems);
  }
}

// Refuses the first key that has no effect where all listeners are without TLS.
void check_idle(const Given& given, const Configuration& configuration,
                std::initializer_list<std::string_view> keys, Problems& problems) {
  if (!std::ranges::all_of(configuration.listeners, &Listener::cleartext)) return;
  for (const std::string_view key : keys) {
    const Assignment* const idle = given.find(key);
    if (idle == nullptr) continue;
    refuse(*idle,
           fmt::format("--{} has no effect beside --h2c, which serves without "
                       "TLS; leave one out",
                       key),
           problems);
    return;
  }
}

// Checks what makes certificates, and what is idle without TLS.
void check_tls(const Given& given, const Configuration& configuration, Problems& problems) {
  const Assignment* const local = given.find("local-ca");
  const bool named = given.find("cert") || given.find("key") || given.find("self-signed");
  if (local != nullptr && named) {
    refuse(*local,
           "--local-ca makes its own certificate; leave out --cert, --key and --self-signed",
           problems);
  }
  const Assignment* const self_signed = given.find("self-signed");
  if (self_signed != nullptr && count_of(given.find("cert")) > 1) {
    refuse(*self_signed, "--self-signed makes one certificate; name one --cert and --key",
           problems);
  }
  check_certificates(given, problems);
  check_idle(given, configuration, {"cert", "key", "ocsp", "self-signed", "local-ca", "hsts"},
             problems);
}

// With a process for each connection, nothing is counted or written for all of them.
void check_processes(const Given& given, const ServerOptions& server,
                     std::initializer_list<std::string_view> keys, Problems& problems) {
  if (server.scheme != ServerScheme::process_per_connection) return;
  for (const std::string_view key : keys) {
    const Assignment* const found = given.find(key);
    if (found == nullptr || found->values == std::vector<std::string>{"off"}) continue;
    refuse(*found,
           fmt::format("--{} does not work with --scheme {}, where each process knows of its own "
                       "connection only",
                       key, server::kind_of(server.scheme).name),
           problems);
  }
}

// What an upload area in a store can't have.
void check_store_uploads(const Given& given, Problems& problems) {
  const Assignment* const upload = given.find("upload");
  if (upload == nullptr) return;
  if (given.find("upload-dir") != nullptr) {
    refuse(*upload,
           "--upload keeps uploads in the store, --upload-dir in a directory; leave one out",
           problems);
  }
  for (const std::string_view key :
       {"webdav", "upload-manage", "upload-total", "upload-reserve", "upload-durability"}) {
    const Assignment* const found = given.find(key);
    if (found == nullptr || found->values == std::vector<std::string>{"none"}) continue;
    refuse(*found,
           fmt::format("--{} is for uploads to a directory, see --upload-dir; leave it out", key),
           problems);
  }
}

// The root and what reads it.
void check_store(const Given& given, Problems& problems) {
  check_needs(given,
              {"s3-endpoint", "s3-region", "s3-style", "store-hedge", "store-cache", "upload"},
              "store", problems);
  check_needs(given, {"store-cache-size"}, "store-cache", problems);
  if (given.find("store") == nullptr) return;
  if (const Assignment* const root = given.find("root")) {
    refuse(*root, "--root has no effect beside --store; leave one out", problems);
  }
  check_store_uploads(given, problems);
  const Assignment* const compress = given.find("compress");
  if (compress == nullptr || compress->values.empty()) return;
  if (compress->values.back() != "on" && compress->values.back() != "true") return;
  refuse(*compress, "--compress on has no effect with --store; leave it out", problems);
}

}  // namespace

const Assignment* Given::find(const Option& option) const noexcept {
  const Assignment* const own = own_ != nullptr ? find_in(*own_, option) : nullptr;
  return own != nullptr ? own : find_in(top_, option);
}

const Assignment* Given::find(std::string_view key) const noexcept {
  const auto matches = [this, key](const Assignment& one) {
    return one.option->key == key && one.option->scope == scope_;
  };
  const Assignment* found = nullptr;
  for (const Assignments* const all : {own_, &top_}) {
    if (all == nullptr || found != nullptr) continue;
    const auto at = std::ranges::find_if(*all, matches);
    if (at != all->end()) found = &*at;
  }
  return found != nullptr && !is_off(*found) ? found : nullptr;
}

void check_program(const Given& given, const Configuration& configuration, Problems& problems) {
  check_scheme(given, configuration.server, problems);
  check_needs(given, {"log-keep"}, "log-rotate", problems);
  check_needs(given, {"admin-token"}, "admin", problems);
  check_needs(given, {"trace-sample"}, "trace-endpoint", problems);
  check_admin(given, configuration.admin, problems);
  check_idle(given, configuration, {"ticket-key"}, problems);
  check_processes(given, configuration.server, {"admin", "trace-endpoint"}, problems);
  const Assignment* const sendfile = given.find("sendfile");
  if (sendfile != nullptr && std::ranges::none_of(configuration.listeners, &Listener::cleartext)) {
    refuse(*sendfile,
           "--sendfile has no effect without --h2c, since TLS encrypts what it sends; leave "
           "it out",
           problems);
  }
}

void check_site(const Given& given, const Configuration& configuration, Problems& problems) {
  check_tls(given, configuration, problems);
  check_store(given, problems);
  if (given.find("upload") == nullptr) {
    check_needs(given,
                {"upload-overwrite", "upload-max", "upload-total", "upload-reserve",
                 "upload-access", "upload-hook", "upload-durability", "upload-sha256",
                 "upload-folders", "upload-manage", "webdav", "upload-expiry"},
                "upload-dir", problems);
  }
  check_needs(given, {"upload-token", "upload-quota"}, "upload-access", problems);
  check_processes(
      given, configuration.server,
      {"store", "auth", "rate-limit", "access-log", "upload-access", "upload-hook", "webdav"},
      problems);
}

}  // namespace h2server::config
