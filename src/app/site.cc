#include "app/site.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/acme/acme_setup.h"
#include "app/protected_paths.h"
#include "app/system/mime_types.h"
#include "app/system/stop.h"
#include "app/uploads/upload_site.h"
#include "base/host_map.h"
#include "content/files/static_files.h"
#include "content/files/store_files.h"
#include "file/folder.h"
#include "h2server/authentication.h"
#include "h2server/cors.h"
#include "h2server/files.h"
#include "h2server/forwarded.h"
#include "h2server/header_rules.h"
#include "h2server/password_file.h"
#include "h2server/path_rules.h"
#include "h2server/rate_limit.h"
#include "h2server/standard_middleware.h"
#include "http/fields/media_type.h"
#include "http/fields/target.h"
#include "http/message.h"

namespace h2server::app {

namespace {

// --- middleware -------------------------------------------------------------------------------

std::string read_page(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads NNN.html, and 4xx.html and 5xx.html for the statuses without a page of their own.
Result<std::map<int, std::string>, std::string> read_error_pages(const std::string& directory) {
  std::map<int, std::string> pages;
  std::array<std::string, 2> others;  // for 4xx and 5xx
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    const std::string name = entry.path().filename();
    const bool own = name.size() == 8 && name >= "400" && name < "6" && name.ends_with(".html");
    if (!own) continue;
    if (name == "4xx.html" || name == "5xx.html") {
      others[name[0] == '4' ? 0 : 1] = read_page(entry.path());
    } else if (name.find_first_not_of("0123456789") == 3) {
      pages.emplace(std::stoi(name), read_page(entry.path()));
    }
  }
  if (failure) {
    return std::unexpected(
        fmt::format("can't read the error pages in {}: {}", directory, failure.message()));
  }
  for (int status = 400; status < 600; ++status) {
    const std::string& other = others[status < 500 ? 0 : 1];
    if (!other.empty()) pages.emplace(status, other);
  }
  if (!pages.empty()) return pages;
  return std::unexpected(fmt::format("there is no page such as 404.html, 4xx.html or 5xx.html in "
                                     "--error-pages {}",
                                     directory));
}

std::vector<Redirect> redirects_of(const config::Site& site) {
  std::vector<Redirect> rules;
  for (const config::PathRule& rule : site.redirects) {
    rules.push_back({.from = rule.from, .to = rule.to, .status = rule.status});
  }
  return rules;
}

std::vector<Rewrite> rewrites_of(const config::Site& site) {
  std::vector<Rewrite> rules;
  for (const config::PathRule& rule : site.rewrites) {
    rules.push_back({.from = rule.from, .to = rule.to});
  }
  return rules;
}

Middleware strict_transport_security() {
  return [](Request& request, Response& response) {
    // RFC 6797, 7.2: over TLS only.
    if (request.head().encrypted) response.replace("Strict-Transport-Security", "max-age=31536000");
  };
}

// One for each file: sites and paths that use it share the count of guesses.
using Users = std::map<std::string, PasswordFile>;

// Calls `use` with each middleware of the site, the outermost first. Throws for what the options'
// values do not allow.
template <class Use>
void add_middleware(const config::Site& site, Users& users, Use use) {
  if (site.requests_per_s > 0) {
    const double burst = site.request_burst > 0 ? site.request_burst : 2 * site.requests_per_s;
    use(rate_limit({.requests_per_s = site.requests_per_s,
                    .burst_max = static_cast<std::uint32_t>(std::max(burst, 1.0))}));
  }
  if (site.hsts) use(strict_transport_security());
  if (!site.headers.empty()) use(header_rules(site.headers));
  if (!site.redirects.empty()) use(redirects(redirects_of(site)));
  if (!site.cors_origins.empty()) use(cors({.origins = site.cors_origins}));
  for (const config::ProtectedPath& area : site.protected_paths) {
    const auto file = users.try_emplace(area.user_file, area.user_file).first;
    use(protection(area, file->second, site.has_uploads()));
  }
}

// For listeners that lead to https. The port is that of the first listener with TLS.
// Hosts without a site get 421, as they do there.
Middleware redirect_to_tls(const config::Configuration& configuration) {
  base::HostMap<bool> hosts;
  bool any_host = false;
  for (const config::Site& site : configuration.sites) {
    any_host |= site.hosts.empty();
    for (const std::string& host : site.hosts) hosts.set(host, true);
  }
  std::vector<bool> leads;
  std::string port;
  for (const config::Listener& listener : configuration.listeners) {
    leads.push_back(listener.redirect);
    const bool is_target = port.empty() && !listener.cleartext && listener.unix_path.empty();
    if (is_target) port = listener.port == 443 ? ":" : fmt::format(":{}", listener.port);
  }
  if (port == ":" || port.empty()) port.clear();
  return [leads = std::move(leads), port, hosts = std::move(hosts),
          any_host](Request& request) -> std::optional<Response> {
    const unsigned listener = request.connection().listener();
    if (listener >= leads.size() || !leads[listener]) return std::nullopt;
    const RequestHead& head = request.head();
    if (base::host_of(head.authority).empty()) return http::error_response(400);
    if (!any_host && hosts.find(head.authority) == nullptr) return http::error_response(421);
    // RFC 9110, 15.4.9: 308 keeps the method.
    return Response::redirect(fmt::format("https://{}{}{}", base::host_of(head.authority), port,
                                          http::origin_form_of(head.target)),
                              308);
  };
}

// For the whole server, the outermost first.
void add_middleware(const SiteParts& parts, Server& server) {
  const config::Configuration& configuration = parts.configuration;
  if (parts.console != nullptr) server.use(parts.console->request_lines());
  // Before redirects and passwords, which are not for the authority.
  if (configuration.acme.http_challenge) server.use(acme_answers(parts.acme_challenges));
  // Clients of a Unix socket are believed in any case.
  const bool behind_proxy = !configuration.trusted_proxies.empty() ||
                            std::ranges::any_of(configuration.listeners, [](const auto& listener) {
                              return !listener.unix_path.empty();
                            });
  if (behind_proxy) {
    server.use(forwarded_client(configuration.trusted_proxies));
  }
  if (std::ranges::any_of(configuration.listeners, &config::Listener::redirect)) {
    server.use(redirect_to_tls(configuration));
  }
}

// An archive of a folder would hold the protected ones below it.
bool is_whole_site(const config::ProtectedPath& area) { return lies_at_or_below("/", area.path); }

// --- routes -----------------------------------------------------------------------------------

// The media types of sites. Those of the system come behind those that the user gave; their file is
// read once, and sites that give the same ones share a table.
class MediaTypesOfSites {
 public:
  http::MediaTypesRef of(const FilesOptions& files) {
    http::MediaTypesRef& known = known_[files.types];
    if (known == nullptr) {
      FilesOptions all;
      all.types = files.types;
      all.types.insert(system_.begin(), system_.end());
      known = content::media_types(all);
    }
    return known;
  }

 private:
  const std::map<std::string, std::string> system_ = read_mime_types(system_mime_types);
  std::map<std::map<std::string, std::string>, http::MediaTypesRef> known_;
};

// What sites are added with.
struct Adding {
  Server& server;
  const SiteParts& parts;
  MediaTypesOfSites types = {};
  Users users = {};
  std::vector<ShownToken> tokens = {};
};

Stop unusable(std::string_view what, const std::string& directory, int error,
              std::string_view option) {
  return {exit_wrong_use, fmt::format("can't {} {}: {}; name another with {}", what, directory,
                                      std::strerror(error), option)};
}

UploadParts upload_parts(Adding& adding) {
  const SiteParts& parts = adding.parts;
  return {adding.server, parts.console, parts.hooks, parts.run_tokens, adding.tokens};
}

Result<void, Stop> add_uploads_of(const config::Site& site, const file::Folder* root,
                                  const http::MediaTypesRef& types, Adding& adding,
                                  const Routes& routes) {
  if (site.upload_directory.empty()) return {};
  return add_uploads(site, root, types, upload_parts(adding), routes);
}

Result<OpenedStore, Stop> open_store(const config::StoreSettings& settings, Stores& stores) {
  Result<std::shared_ptr<Store>, std::string> store = stores.open(settings);
  if (!store) {
    return std::unexpected(Stop{
        exit_wrong_use, fmt::format("can't use --store {}: {}", settings.place, store.error())});
  }
  OpenedStore opened{.store = *std::move(store), .copies = {}};
  if (settings.cache_directory.empty()) return opened;
  Result<content::DiskPlace, int> copies = stores.open_copies(settings);
  if (!copies) {
    return std::unexpected(
        unusable("write to", settings.cache_directory, copies.error(), "--store-cache"));
  }
  opened.copies = *std::move(copies);
  return opened;
}

Result<void, Stop> add_store(const config::Site& site, Adding& adding, Routes& routes) {
  Result<OpenedStore, Stop> store = open_store(site.store, adding.parts.stores);
  if (!store) return std::unexpected(store.error());
  const http::MediaTypesRef types = adding.types.of(site.files);
  routes.get("/{path...}", content::store_files(std::move(store->store), site.files, types,
                                                std::move(store->copies)));
  if (!site.uploads_to_store) return add_uploads_of(site, nullptr, types, adding, routes);
  // So that a file has the same path in the area and in the store, and never comes without what
  // keeps browsers from running it as a part of the site.
  config::StoreSettings below = site.store;
  below.place = store_upload_place(site);
  store = open_store(below, adding.parts.stores);
  if (!store) return std::unexpected(store.error());
  return add_store_uploads(site, *std::move(store), types, upload_parts(adding), routes);
}

Result<void, Stop> add_routes(const config::Site& site, Adding& adding, Routes routes) {
  if (!site.store.place.empty()) return add_store(site, adding, routes);
  if (site.root.empty()) {  // it has redirects only
    routes.any("/{path...}", [](Request&) { return http::error_response(404); });
    return {};
  }
  const http::MediaTypesRef types = adding.types.of(site.files);
  FilesOptions files = site.files;
  files.types.clear();  // they are in `types`
  const auto root = file::Folder::open(site.root, content::folder_options(files, types));
  if (!root || ::access(site.root.c_str(), X_OK) != 0) {
    return std::unexpected(
        unusable("open the root", site.root, root ? errno : root.error(), "--root"));
  }
  files.archives = files.listing && std::ranges::all_of(site.protected_paths, is_whole_site);
  routes.get("/{path...}", Files(*root, files, types));
  return add_uploads_of(site, root->get(), types, adding, routes);
}

// --- sites ------------------------------------------------------------------------------------

// Error pages by host.
class ErrorPages {
 public:
  Result<void, Stop> add(const config::Site& site) {
    if (site.error_pages.empty()) return {};
    auto pages = read_error_pages(site.error_pages);
    if (!pages) return std::unexpected(Stop{exit_wrong_use, std::move(pages.error())});
    const ErrorHandler handler = error_pages(*std::move(pages));
    if (site.hosts.empty()) usual_ = handler;
    for (const std::string& host : site.hosts) by_host_.set(host, handler);
    any_ = true;
    return {};
  }

  void install(Server& server) && {
    if (!any_) return;
    if (usual_ == nullptr) usual_ = error_pages();
    server.set_error_handler([pages = std::make_shared<const ErrorPages>(std::move(*this))](
                                 const Request& request, const Failure& failure) {
      const ErrorHandler* const own = pages->by_host_.find(request.head().authority);
      return (own != nullptr ? *own : pages->usual_)(request, failure);
    });
  }

 private:
  base::HostMap<ErrorHandler> by_host_;
  ErrorHandler usual_;
  bool any_ = false;
};

// A site of single hosts. Its routes begin with the middleware of the whole server.
Result<void, Stop> add_hosts(const config::Site& site, Adding& adding) {
  Server& server = adding.server;
  Routes routes = server.hosts(site.hosts);
  add_middleware(site, adding.users,
                 [&routes](Middleware middleware) { routes.use(std::move(middleware)); });
  if (!site.rewrites.empty()) server.rewrite(site.hosts.front(), rewrites_of(site));
  return add_routes(site, adding, std::move(routes));
}

// The site of all other hosts.
Result<void, Stop> add_usual(const config::Site& site, Adding& adding) {
  Server& server = adding.server;
  add_middleware(site, adding.users,
                 [&server](Middleware middleware) { server.use(std::move(middleware)); });
  if (!site.rewrites.empty()) server.rewrite(rewrites_of(site));
  return add_routes(site, adding, server.routes());
}

Result<void, Stop> add_all(Adding& adding) {
  Server& server = adding.server;
  const config::Configuration& configuration = adding.parts.configuration;
  add_middleware(adding.parts, server);
  ErrorPages pages;
  const config::Site* usual = nullptr;
  for (const config::Site& site : configuration.sites) {
    check_protected_paths(site);
    Result<void, Stop> added = pages.add(site);
    if (site.hosts.empty()) usual = &site;
    if (added && !site.hosts.empty()) added = add_hosts(site, adding);
    if (!added) return added;
  }
  std::move(pages).install(server);
  // Last, since its middleware would be that of all routes of hosts that are added later.
  if (usual != nullptr) return add_usual(*usual, adding);
  // RFC 9110, 15.5.20: no site here has that name.
  server.routes().any("/{path...}", [](Request&) { return http::error_response(421); });
  return {};
}

}  // namespace

Result<std::vector<ShownToken>, Stop> add_sites(const SiteParts& parts, Server& server) {
  try {
    Adding adding{.server = server, .parts = parts};
    const Result<void, Stop> added = add_all(adding);
    if (!added) return std::unexpected(added.error());
    return std::move(adding.tokens);
  } catch (const std::exception& error) {
    return std::unexpected(Stop{exit_wrong_use, error.what()});
  }
}

}  // namespace h2server::app
