// Configuration: all that the command line and the configuration file say, as one immutable value.
// Nothing in it refers to the table of options that it was read from.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "content/s3/location.h"
#include "h2server/files.h"
#include "h2server/header_rules.h"
#include "h2server/options.h"
#include "h2server/uploads.h"

namespace h2server::config {

// Where certificate and key come from.
enum class CertificateSource : std::uint8_t {
  files,            // --cert and --key, which exist
  self_signed,      // the same, but made if neither exists
  own,              // made, kept and renewed in the user's state directory
  local_authority,  // issued by the user's local authority
};

// A part of a site whose visitors need a password.
struct ProtectedPath {
  std::string path;       // begins with '/'; it and all below
  std::string user_file;  // as PasswordFile reads it
};

// "/old/** /new/$1 301". In `to`, $1 to $9 stand for what the first to ninth '*' or '**' matched.
struct PathRule {
  std::string from;  // a pattern as those of HeaderRule
  std::string to;    // a path; of a redirect also a URL
  int status = 0;    // of a redirect: 301, 302, 303, 307 or 308; 0 for a rewrite
};

// Where something was declared, for messages. Empty file: on the command line.
struct Place {
  std::string file;
  std::uint32_t line = 0;
};

// Who may use the upload area: everybody, or who has a token, for what.
enum class UploadAccess : std::uint8_t { open, drop, read, full };

// Where the files of a site are in an object store. What is empty comes from the environment, with
// the names that AWS's tools use, or has their default.
struct StoreSettings {
  std::string place;  // "s3://BUCKET/PREFIX"; empty: the files are in the root
  std::string endpoint;
  std::string region;
  std::optional<content::s3::Style> style;
  // Reads without an answer by then are sent twice; 0: none are.
  std::chrono::milliseconds hedge{0};
  std::string cache_directory;  // for copies of objects; empty: none
  std::uint64_t cache_bytes = std::uint64_t{10} * 1024 * 1024 * 1024;
};

// A [[site]], or the one site of a configuration without any.
struct Site {
  std::vector<std::string> hosts;  // lower case, without ports; "*.example.com" for all subdomains.
                                   // Empty: every host that no other site has
  std::string root = ".";          // empty: there is none
  StoreSettings store;             // instead of the root
  FilesOptions files{.listing = true};
  std::string upload_directory;   // empty: none
  bool uploads_to_store = false;  // below its prefix, under "files/"
  UploadOptions uploads;
  UploadAccess upload_access = UploadAccess::open;
  std::string upload_token_file;         // empty: a token for each run
  std::uint64_t upload_quota_bytes = 0;  // of each token; 0: no limit
  std::string upload_hook;               // a program or a URL; empty: none
  // Unfinished uploads without progress are removed after this time.
  std::uint32_t upload_expiry_ms = 24 * 3600 * 1000;
  bool upload_manage = false;       // clients may delete, rename and make folders
  bool webdav = false;              // serves the upload directory over WebDAV, too
  std::vector<HeaderRule> headers;  // of --header, --immutable and --cache, in their order
  std::vector<ProtectedPath> protected_paths;
  std::vector<std::string> cors_origins;
  std::vector<PathRule> redirects;
  std::vector<PathRule> rewrites;
  std::string error_pages;          // a directory with pages such as 404.html; empty: none
  bool hsts = false;                // Strict-Transport-Security
  double requests_per_s = 0;        // of one client; 0: no limit
  std::uint32_t request_burst = 0;  // requests that a client may make at once; 0: twice a second's
  bool acme = false;                // the certificate is got by ACME; `certificate` is not used
  CertificateSource certificate = CertificateSource::own;
  std::string certificate_file;  // of `files` and `self_signed`
  std::string key_file;
  std::string ocsp_file;                            // of `files`; empty: none
  std::vector<CertificateFiles> more_certificates;  // of `files`: with keys of other types
  std::string access_log;  // a file, "-" for standard output, "syslog", or empty: none
  Place place;
  // Where the values of root, store, cert, key, ocsp, auth and error-pages stand, by those keys.
  // What was not given is not in it.
  std::map<std::string, Place, std::less<>> places;

  [[nodiscard]] bool has_uploads() const noexcept {
    return uploads_to_store || !upload_directory.empty();
  }
};

// A [[listener]], or the one of a configuration without any.
struct Listener {
  std::string host;  // a name or an address; empty: all addresses
  std::uint16_t port = 0;
  std::string unix_path;        // instead of host and port
  unsigned unix_mode = 0;       // permissions of the socket; 0: as the umask allows
  bool cleartext = false;       // "h2c"
  bool redirect = false;        // answers every request with a redirect to https; implies cleartext
  bool proxy_protocol = false;  // each connection begins with a header of PROXY protocol v1 or v2
  Place place;
};

enum class LogFormat : std::uint8_t { text, json };

struct LogSettings {
  std::string usual;  // the access log of hosts without a site; as Site::access_log
  LogFormat format = LogFormat::text;
  bool queries = true;             // log the query of a target; else it is left out
  std::uint64_t rotate_bytes = 0;  // a file of that size is renamed to FILE.1 …; 0: never
  unsigned keep = 5;               // so many of those
  std::string error_log;           // a file, or empty: standard error
};

struct TraceSettings {
  std::string endpoint;  // "http://127.0.0.1:4318/v1/traces"; empty: no traces
  double sample = 0.01;  // of the requests without a sampled parent
};

// Of sites with `acme`.
struct AcmeSettings {
  std::string directory = "https://acme-v02.api.letsencrypt.org/directory";
  std::string email;    // of the account; may be empty
  std::string ca_file;  // who signs the directory's certificate; empty: any public authority
  bool http_challenge = false;  // http-01 instead of tls-alpn-01
  std::string store;            // "s3://BUCKET/PREFIX" that all servers share; empty: none
};

struct AdminSettings {
  std::string address;  // "127.0.0.1:9000", "[::1]:9000" or "unix:PATH"; empty: no admin listener
  std::string token;    // Bearer; required unless the address is loopback or a Unix socket
};

struct Configuration {
  // Without listeners, root, certificate and key: those are in what follows.
  ServerOptions server;
  std::vector<Listener> listeners;           // at least one
  std::vector<Site> sites;                   // at least one; at most one without hosts
  std::vector<std::string> trusted_proxies;  // addresses and networks: "10.0.0.0/8"
  LogSettings log;
  TraceSettings trace;
  AdminSettings admin;
  AcmeSettings acme;
  bool port_given = false;             // else the one listener takes the next free one
  bool serve_all = false;              // a root may be / or the user's home
  std::string file;                    // of --config, or empty
  std::vector<std::string> all_files;  // that one and those that it includes
  std::string pid_file;                // empty: none
  // Between the signal to stop and the stop itself, while it is said to be not ready.
  std::chrono::milliseconds shutdown_delay{0};
};

using ConfigurationRef = std::shared_ptr<const Configuration>;

}  // namespace h2server::config
