// The table's rows on what a site serves and how.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_makers.h"
#include "config/rules.h"

namespace h2server::config {

namespace {

constexpr const char* single_page = "index.html";  // of --spa

std::string same(const std::string& text) { return text; }

Read<std::string> any_text(const std::string& text) {
  if (text.empty()) return std::unexpected("empty; leave it out");
  return text;
}

Read<HeaderRule> read_immutable(const std::string& pattern) {
  if (pattern.starts_with('/')) return immutable_files(pattern);
  return std::unexpected("not a pattern; allowed: such as /assets/**");
}

std::string write_rule(const PathRule& rule) {
  std::string text = rule.from + " " + rule.to;
  if (rule.status != 0) text += " " + std::to_string(rule.status);
  return text;
}

// "index.html,index.htm", or one of them. The first of all replaces the default.
Read<void> set_index(const Target& target, const std::string& text) {
  std::vector<std::string>& index = target.site.files.index;
  if (!target.again) index.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const Read<void> checked = read_file_name(name);
    if (!checked) return checked;
    index.push_back(name);
    begin = end + 1;
  }
  return {};
}

Option make_index() {
  return {.key = "index",
          .value = "NAME",
          .usual = "index.html",
          .help = "Files that stand for their directory, the first first",
          .repeatable = true,
          .set = set_index,
          .get = [](const Target& t) { return t.site.files.index; }};
}

Option make_type() {
  return {.key = "type",
          .value = "EXT=TYPE",
          .help = "Media type of files with that extension: gcode=text/plain",
          .repeatable = true,
          .set = setter(read_media_type,
                        [](const Target& t, std::pair<std::string, std::string> type) {
                          t.site.files.types.insert_or_assign(type.first, type.second);
                        }),
          .get = [](const Target& t) {
            Values values;
            for (const auto& [extension, type] : t.site.files.types) {
              values.push_back(extension + "=" + type);
            }
            return values;
          }};
}

Option make_no_listing() {
  Option row = flag({.key = "no-listing",
                     .help = "Answer 404 for a directory without index file",
                     .opposite = "listing"},
                    [](const Target& t) -> auto& { return t.site.files.listing; });
  row.set = setter(read_switch, [](const Target& t, bool on) { t.site.files.listing = !on; });
  row.get = [](const Target& t) { return Values{t.site.files.listing ? "false" : "true"}; };
  return row;
}

Option make_single_page() {
  Option row{.key = "spa",
             .type = ValueType::flag,
             .help = "Send browsers /index.html in place of a missing page"};
  row.set = setter(read_switch,
                   [](const Target& t, bool on) { t.site.files.fallback = on ? single_page : ""; });
  row.get = [](const Target& t) {
    return Values{t.site.files.fallback.empty() ? "false" : "true"};
  };
  return row;
}

// --header, --cache and --immutable share one list, where the last rule for a field counts: so a
// rule for names with a hash comes behind those for whole folders.
Option make_header() {
  Option row = list(
      {.key = "header",
       .value = "RULE",
       .help = "Set a field of responses: \"/**.css Cache-Control: max-age=3600\""},
      read_header_rule, [](const Target& t) -> auto& { return t.site.headers; },
      [](const HeaderRule& /*rule*/) { return std::string(); });
  row.get = [](const Target& t) {
    Values values;
    for (const HeaderRule& rule : t.site.headers) {
      if (rule.hashed_names_only) continue;
      const std::string name = rule.pattern + " " + rule.name + ":";
      values.push_back(rule.value.empty() ? name : name + " " + rule.value);
    }
    return values;
  };
  return row;
}

Option make_cache() {
  Option row{.key = "cache",
             .value = "RULE",
             .help = "How long browsers keep files: \"/assets/** 1h\", no-cache or no-store",
             .repeatable = true};
  row.set = setter(read_cache_rule,
                   [](const Target& t, HeaderRule rule) { t.site.headers.push_back(rule); });
  row.get = [](const Target& /*t*/) { return Values{}; };  // they are among those of --header
  return row;
}

Option make_immutable() {
  Option row{.key = "immutable",
             .value = "PATTERN",
             .help = "Let browsers keep files with a hash in their name: /assets/**",
             .repeatable = true};
  row.set = setter(read_immutable,
                   [](const Target& t, HeaderRule rule) { t.site.headers.push_back(rule); });
  row.get = [](const Target& t) {
    Values values;
    for (const HeaderRule& rule : t.site.headers) {
      if (rule.hashed_names_only) values.push_back(rule.pattern);
    }
    return values;
  };
  return row;
}

// What has no effect without uploads says nothing.
Option of_uploads(Option row) {
  row.get = [get = row.get](const Target& t) { return t.site.has_uploads() ? get(t) : Values{}; };
  return row;
}

template <class Field>
Option upload_size(Option row, Field field) {
  return of_uploads(size(std::move(row), field));
}

Option make_reserve() {
  Option row{.key = "upload-reserve",
             .type = ValueType::size,
             .value = "SIZE",
             .usual = "1GiB, at most a twentieth",
             .help = "Disk space to keep free"};
  row.set =
      setter([](const std::string& text) { return read_size(text); },
             [](const Target& t, std::uint64_t bytes) { t.site.uploads.reserve_bytes = bytes; });
  row.get = [](const Target& t) {
    const auto& bytes = t.site.uploads.reserve_bytes;
    return bytes ? Values{write_size(*bytes)} : Values{};
  };
  return row;
}

Option make_upload_access() {
  return of_uploads(choice(
      {.key = "upload-access",
       .usual = "open",
       .help = "Ask for a token: drop (upload only), read or full"},
      [](const Target& t) -> auto& { return t.site.upload_access; },
      std::vector<std::pair<std::string_view, UploadAccess>>{{"open", UploadAccess::open},
                                                             {"drop", UploadAccess::drop},
                                                             {"read", UploadAccess::read},
                                                             {"full", UploadAccess::full}}));
}

Option make_durability() {
  return of_uploads(choice(
      {.key = "upload-durability",
       .usual = "none",
       .help = "Write to the disk before the answer: none, file, file+directory"},
      [](const Target& t) -> auto& { return t.site.uploads.durability; },
      std::vector<std::pair<std::string_view, Durability>>{
          {"none", Durability::none},
          {"file", Durability::file},
          {"file+directory", Durability::file_and_directory}}));
}

Option make_rate_limit() {
  Option row{.key = "rate-limit",
             .value = "RATE",
             .help = "Requests of one client: 10/s, or \"10/s 50\" for 50 at once; off"};
  row.set = setter([](const std::string& text) { return read_rate(text); },
                   [](const Target& t, Rate rate) {
                     t.site.requests_per_s = rate.per_s;
                     t.site.request_burst = rate.burst;
                   });
  row.get = [](const Target& t) {
    return Values{write_rate({t.site.requests_per_s, t.site.request_burst})};
  };
  return row;
}

// A file of each certificate: the first value is that of the first one, and so on.
template <class Field>
Option certificate_file(Option row, Field first, std::string CertificateFiles::* other) {
  row = file(std::move(row), first);
  row.repeatable = true;
  row.set = [first, other](const Target& t, const std::string& text) -> Read<void> {
    if (text.empty()) return std::unexpected("empty; leave it out");
    if (!t.again) {
      first(t) = text;
      return {};
    }
    std::vector<CertificateFiles>& more = t.site.more_certificates;
    auto free =
        std::ranges::find_if(more, [other](const auto& one) { return (one.*other).empty(); });
    if (free == more.end()) free = more.insert(more.end(), CertificateFiles());
    (*free).*other = text;
    return {};
  };
  row.get = [first, other](const Target& t) {
    Values values;
    if (!first(t).empty()) values.push_back(first(t));
    for (const CertificateFiles& one : t.site.more_certificates) {
      if (!(one.*other).empty()) values.push_back(one.*other);
    }
    return values;
  };
  return row;
}

// A part of a store's location. `location_of` gives it parts that fit.
template <class Field, class Location>
Option of_location(Option row, Field field, Location location_of) {
  row = text(std::move(row), field);
  row.set = [set = row.set, location_of](const Target& t, const std::string& value) -> Read<void> {
    if (value.empty()) return set(t, value);
    const auto location = content::s3::make_location(location_of(value));
    if (!location) return std::unexpected(location.error());
    return set(t, value);
  };
  return row;
}

// What has no effect without a store says nothing.
Option of_store(Option row) {
  row.get = [get = row.get](const Target& t) {
    return t.site.store.place.empty() ? Values{} : get(t);
  };
  return row;
}

void add_store_options(std::vector<Option>& all) {
  using content::s3::LocationOptions;
  using content::s3::Style;
  all.push_back(of_location(
      {.key = "store",
       .value = "s3://BUCKET/PREFIX",
       .help = "Serve objects of an S3 store in place of the root"},
      [](const Target& t) -> auto& { return t.site.store.place; },
      [](std::string_view place) {
        return LocationOptions{.place = place, .endpoint = "http://localhost"};
      }));
  all.push_back(of_store(of_location(
      {.key = "s3-endpoint",
       .value = "URL",
       .usual = "AWS_ENDPOINT_URL_S3 or AWS",
       .help = "URL of the store: http://127.0.0.1:9000",
       .is_url = true},
      [](const Target& t) -> auto& { return t.site.store.endpoint; },
      [](std::string_view url) {
        return LocationOptions{.place = "s3://bucket", .endpoint = url};
      })));
  all.push_back(of_store(of_location(
      {.key = "s3-region",
       .value = "NAME",
       .usual = "AWS_REGION, else us-east-1",
       .help = "Region of the store"},
      [](const Target& t) -> auto& { return t.site.store.region; },
      [](std::string_view name) {
        return LocationOptions{.place = "s3://bucket", .region = name};
      })));
  all.push_back(of_store(choice(
      {.key = "s3-style", .usual = "host for AWS, else path", .help = "Where URLs name the bucket"},
      [](const Target& t) -> auto& { return t.site.store.style; },
      std::vector<std::pair<std::string_view, Style>>{{"path", Style::path},
                                                      {"host", Style::host}})));
  all.push_back(
      of_store(duration({.key = "store-hedge",
                         .help = "Ask the store twice if it has not answered by then; 0: never"},
                        [](const Target& t) -> auto& { return t.site.store.hedge; })));
  all.push_back(of_store(directory(
      {.key = "store-cache", .help = "Keep copies of large objects there; created if missing"},
      [](const Target& t) -> auto& { return t.site.store.cache_directory; })));
  Option cache_size = size({.key = "store-cache-size",
                            .usual = "10GiB",
                            .help = "Size of all copies; an object has at most an eighth"},
                           [](const Target& t) -> auto& { return t.site.store.cache_bytes; });
  cache_size.get = [get = cache_size.get](const Target& t) {
    return t.site.store.cache_directory.empty() ? Values{} : get(t);
  };
  all.push_back(of_store(std::move(cache_size)));
}

// A flag that selects a source of the certificate.
Option certificate_flag(Option row, CertificateSource source) {
  row.type = ValueType::flag;
  row.set = setter(read_switch, [source](const Target& t, bool on) {
    if (on) t.site.certificate = source;
  });
  row.get = [source](const Target& t) {
    return t.site.certificate == source ? Values{"true"} : Values{};
  };
  return row;
}

}  // namespace

void add_file_options(std::vector<Option>& all) {
  all.push_back(list(
      {.key = "host",
       .value = "HOST",
       .usual = "those that no other site has",
       .help = "Names of the site, without ports; *.example.com: all subdomains",
       .on_command_line = false,
       .at_top = false},
      [](const std::string& text) { return read_host(text); },
      [](const Target& t) -> auto& { return t.site.hosts; }, same));
  all.push_back(directory(
      {.key = "root", .letter = 'r', .usual = "the current one", .help = "Directory to serve"},
      [](const Target& t) -> auto& { return t.site.root; }));
  add_store_options(all);
  all.push_back(make_no_listing());
  all.push_back(flag({.key = "hidden", .help = "Serve and list names that begin with a dot, too"},
                     [](const Target& t) -> auto& { return t.site.files.hidden; }));
  all.push_back(make_index());
  all.push_back(make_single_page());
  all.push_back(toggle({.key = "compress",
                        .usual = "on",
                        .help = "Compress text, or send FILE.br, .zst and .gz beside it"},
                       [](const Target& t) -> auto& { return t.site.files.compress; }));
  all.push_back(make_type());
}

void add_response_options(std::vector<Option>& all) {
  all.push_back(make_header());
  all.push_back(make_cache());
  all.push_back(make_immutable());
  all.push_back(list(
      {.key = "redirect",
       .value = "RULE",
       .help = "Send clients elsewhere: \"/old/** /new/$1 301\" [status 302]"},
      read_redirect, [](const Target& t) -> auto& { return t.site.redirects; }, write_rule));
  all.push_back(list(
      {.key = "rewrite", .value = "RULE", .help = "Serve another path: \"/user/* /profile.html\""},
      read_rewrite, [](const Target& t) -> auto& { return t.site.rewrites; }, write_rule));
  all.push_back(directory({.key = "error-pages",
                           .help = "Directory of pages for errors, such as 404.html and 5xx.html"},
                          [](const Target& t) -> auto& { return t.site.error_pages; }));
}

void add_access_options(std::vector<Option>& all) {
  all.push_back(list(
      {.key = "auth",
       .value = "PATH=FILE",
       .help = "Ask for a password or a token below PATH; FILE: see htpasswd -B"},
      read_protected_path, [](const Target& t) -> auto& { return t.site.protected_paths; },
      [](const ProtectedPath& area) { return area.path + "=" + area.user_file; }));
  all.push_back(list(
      {.key = "cors",
       .value = "ORIGIN",
       .help = "Let pages of that origin read the site; \"*\": all pages"},
      any_text, [](const Target& t) -> auto& { return t.site.cors_origins; }, same));
  all.push_back(make_rate_limit());
}

void add_upload_options(std::vector<Option>& all) {
  all.push_back(flag({.key = "upload", .help = "Take uploads, and keep them in the store"},
                     [](const Target& t) -> auto& { return t.site.uploads_to_store; }));
  all.push_back(directory(
      {.key = "upload-dir", .help = "Store uploads in this directory; created if missing"},
      [](const Target& t) -> auto& { return t.site.upload_directory; }));
  all.push_back(flag(
      {.key = "upload-overwrite", .help = "Replace existing files instead of failing with 409"},
      [](const Target& t) -> auto& { return t.site.uploads.overwrite; }));
  all.push_back(
      upload_size({.key = "upload-max",
                   .usual = "0",
                   .help = "Largest file to accept: 500k, 2GiB; 0: no limit"},
                  [](const Target& t) -> auto& { return t.site.uploads.file_bytes_max; }));
  all.push_back(
      upload_size({.key = "upload-total",
                   .usual = "0",
                   .help = "Maximum total size of uploaded files; 0: no limit"},
                  [](const Target& t) -> auto& { return t.site.uploads.directory_bytes_max; }));
  all.push_back(make_reserve());
  all.push_back(make_durability());
  all.push_back(
      of_uploads(toggle({.key = "upload-sha256",
                         .usual = "on",
                         .help = "Compute the SHA-256 of uploads while they are received"},
                        [](const Target& t) -> auto& { return t.site.uploads.sha256; })));
  all.push_back(flag({.key = "upload-folders",
                      .help = "Keep folders of uploaded files, and let clients make them"},
                     [](const Target& t) -> auto& { return t.site.uploads.folders; }));
  all.push_back(flag({.key = "upload-manage", .help = "Let clients delete and rename uploads"},
                     [](const Target& t) -> auto& { return t.site.upload_manage; }));
  all.push_back(flag(
      {.key = "webdav", .help = "Serve uploads over WebDAV, too; clients may change all of them"},
      [](const Target& t) -> auto& { return t.site.webdav; }));
  all.push_back(
      of_uploads(duration_ms({.key = "upload-expiry",
                              .usual = "1d",
                              .help = "Remove unfinished uploads without progress after that time"},
                             [](const Target& t) -> auto& { return t.site.upload_expiry_ms; })));
  all.push_back(make_upload_access());
  all.push_back(file({.key = "upload-token",
                      .usual = "one for each run",
                      .help = "File of the tokens' digests; made if missing"},
                     [](const Target& t) -> auto& { return t.site.upload_token_file; }));
  all.push_back(upload_size({.key = "upload-quota",
                             .usual = "0",
                             .help = "What may be uploaded with each token; 0: no limit"},
                            [](const Target& t) -> auto& { return t.site.upload_quota_bytes; }));
  all.push_back(text({.key = "upload-hook",
                      .value = "PROGRAM|URL",
                      .help = "Run it, or POST to it, after each upload"},
                     [](const Target& t) -> auto& { return t.site.upload_hook; }));
}

void add_tls_options(std::vector<Option>& all) {
  all.push_back(certificate_file(
      {.key = "cert",
       .letter = 'c',
       .usual = "made for you, self-signed",
       .help = "TLS certificate chain, PEM"},
      [](const Target& t) -> auto& { return t.site.certificate_file; },
      &CertificateFiles::certificate_file));
  all.push_back(certificate_file(
      {.key = "key",
       .letter = 'k',
       .usual = "./cert/server.key beside --cert",
       .help = "TLS private key, PEM, of each --cert"},
      [](const Target& t) -> auto& { return t.site.key_file; }, &CertificateFiles::key_file));
  all.push_back(certificate_file(
      {.key = "ocsp", .help = "OCSP response of each --cert, DER, for clients that ask for it"},
      [](const Target& t) -> auto& { return t.site.ocsp_file; }, &CertificateFiles::ocsp_file));
  all.push_back(
      certificate_flag({.key = "self-signed",
                        .help = "Make the files of --cert and --key [in ./cert] if neither exists"},
                       CertificateSource::self_signed));
  all.push_back(certificate_flag(
      {.key = "local-ca", .help = "Use a certificate of your local authority, see h2server trust"},
      CertificateSource::local_authority));
  all.push_back(flag(
      {.key = "acme",
       .help = "Get a certificate for host by ACME, and renew it; accepts the authority's terms",
       .on_command_line = false},
      [](const Target& t) -> auto& { return t.site.acme; }));
  all.push_back(
      flag({.key = "hsts", .help = "Let browsers use nothing but TLS with this host for a year"},
           [](const Target& t) -> auto& { return t.site.hsts; }));
}

}  // namespace h2server::config
