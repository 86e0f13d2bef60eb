#include "config/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/relations.h"
#include "net/certs/tls_issue.h"

namespace h2server::config {

namespace {

constexpr const char* usual_certificate = "./cert/server.crt";
constexpr const char* usual_key = "./cert/server.key";
constexpr std::uint16_t cleartext_port = 8080;
constexpr std::uint16_t tls_port = 8443;

// Returns the values of the top: those of the command line, and of the file where that has none.
Assignments merge(const Assignments& command_line, const Assignments& file) {
  Assignments top = command_line;
  for (const Assignment& assignment : file) {
    const bool replaced = std::ranges::find(command_line, assignment.option, &Assignment::option) !=
                          command_line.end();
    if (!replaced) top.push_back(assignment);
  }
  return top;
}

class Assembly {
 public:
  Assembly(const Assignments& command_line, const Settings& file, Problems& problems)
      : command_line_(command_line),
        file_(file),
        top_(merge(command_line, file.top)),
        problems_(problems) {}

  Configuration run();

 private:
  using Places = std::unordered_map<std::string, Place>;

  void check_defaults();
  void check_effect(const std::vector<Table>& tables, Scope scope, Section section);
  void fill(Scope scope, const Given& given, Site& site, Listener& listener);
  void add_listener(const Table* table);
  void check_listeners();
  void check_redirects();
  void add_site(const Table* table);
  void settle_certificate(const Given& given, Site& site);
  void check_hosts(const Site& site, const Assignment* hosts);
  void check_acme(const Given& given, const Site& site);
  void check_acme_effect(const Given& given);

  const Assignments& command_line_;
  const Settings& file_;
  const Assignments top_;
  Problems& problems_;
  Configuration result_;
  Site no_site_;  // where options of another scope have their target
  Listener no_listener_;
  Places hosts_;
  Places addresses_;
  const Site* site_for_others_ = nullptr;
};

Configuration Assembly::run() {
  check_defaults();
  check_effect(file_.listeners, Scope::listener, Section::listener);
  check_effect(file_.sites, Scope::site, Section::site);
  result_.file = file_.file;
  result_.all_files = file_.all_files;
  const Given given(Scope::program, top_);
  fill(Scope::program, given, no_site_, no_listener_);
  Site defaults;
  fill(Scope::site, Given(Scope::site, top_), defaults, no_listener_);
  result_.log.usual = defaults.access_log;
  result_.port_given = !file_.listeners.empty() || Given(Scope::listener, top_).find("port");
  result_.listeners.reserve(std::max<std::size_t>(file_.listeners.size(), 1));
  result_.sites.reserve(
      std::max<std::size_t>(file_.sites.size(), 1));  // site_for_others_ points in
  if (file_.listeners.empty()) add_listener(nullptr);
  for (const Table& table : file_.listeners) add_listener(&table);
  check_listeners();
  check_program(given, result_, problems_);
  if (file_.sites.empty()) add_site(nullptr);
  for (const Table& table : file_.sites) add_site(&table);
  check_acme_effect(given);
  return std::move(result_);
}

// A wrong default is reported even if nothing uses it.
void Assembly::check_defaults() {
  Configuration program;
  Site site;
  Listener listener;
  for (const Assignment& assignment : top_) apply(assignment, {program, site, listener}, problems_);
}

// The command line must not give what every table of the file has itself.
void Assembly::check_effect(const std::vector<Table>& tables, Scope scope, Section section) {
  if (tables.empty()) return;
  for (const Assignment& assignment : command_line_) {
    if (assignment.option->scope != scope) continue;
    const bool replaced = std::ranges::all_of(tables, [&assignment](const Table& table) {
      return std::ranges::find(table.own, assignment.option, &Assignment::option) !=
             table.own.end();
    });
    if (!replaced) continue;
    problems_.add({}, fmt::format("--{} has no effect: each {} of {} has its own",
                                  assignment.option->key, name_of(section), file_.file));
  }
}

// In the order of the table, on which the rules for fields depend.
void Assembly::fill(Scope scope, const Given& given, Site& site, Listener& listener) {
  for (const Option& option : options()) {
    if (option.scope != scope) continue;
    const Assignment* const assignment = given.find(option);
    if (assignment != nullptr) apply(*assignment, {result_, site, listener}, problems_);
  }
}

void Assembly::add_listener(const Table* table) {
  const Given given(Scope::listener, top_, table != nullptr ? &table->own : nullptr);
  Listener listener;
  fill(Scope::listener, given, no_site_, listener);
  if (table != nullptr) listener.place = table->place;
  listener.cleartext = listener.cleartext || listener.redirect;
  if (!listener.unix_path.empty()) {
    const Given own(Scope::listener, table->own);
    for (const std::string_view key : {"host", "port"}) {
      const Assignment* const found = own.find(key);
      if (found == nullptr) continue;
      problems_.add(found->place, fmt::format("{} has no effect beside unix; leave one out", key));
    }
    listener.host.clear();
    listener.port = 0;
  } else if (given.find("port") == nullptr) {
    listener.port = listener.cleartext ? cleartext_port : tls_port;
  }
  if (listener.unix_path.empty() && listener.unix_mode != 0) {
    problems_.add(listener.place, "unix-mode needs unix");
  }
  result_.listeners.push_back(std::move(listener));
}

void Assembly::check_listeners() {
  check_redirects();
  for (const Listener& listener : result_.listeners) {
    const bool is_unix = !listener.unix_path.empty();
    if (listener.proxy_protocol && !is_unix && result_.trusted_proxies.empty()) {
      problems_.add(listener.place,
                    "proxy-protocol needs --trusted-proxy, or anyone could claim any address");
    }
    if (!is_unix && listener.port == 0) continue;  // any free one
    const std::string address =
        is_unix ? "unix:" + listener.unix_path : fmt::format("{}:{}", listener.host, listener.port);
    const auto [other, added] = addresses_.try_emplace(address, listener.place);
    if (added) continue;
    problems_.add(
        listener.place,
        fmt::format("a second listener at {}; the first one is at {}",
                    is_unix || !listener.host.empty() ? address : "port " + address.substr(1),
                    name_of(other->second)));
  }
}

// Redirects name the port of the first listener with TLS.
void Assembly::check_redirects() {
  const auto& listeners = result_.listeners;
  const bool all_cleartext = std::ranges::all_of(listeners, &Listener::cleartext);
  const auto target = std::ranges::find_if(listeners, [](const Listener& listener) {
    return !listener.cleartext && listener.unix_path.empty();
  });
  const bool unknown_port = target != listeners.end() && target->port == 0;
  for (const Listener& listener : listeners) {
    if (listener.redirect && all_cleartext) {
      problems_.add(listener.place,
                    "redirect leads to https, but no listener has TLS; add a [[listener]]");
    }
    if (listener.redirect && unknown_port) {
      problems_.add(listener.place,
                    fmt::format("redirect leads to the port of the listener at {}, which has port "
                                "= 0, any free one; give that a port",
                                name_of(target->place)));
    }
  }
}

void Assembly::add_site(const Table* table) {
  const Given given(Scope::site, top_, table != nullptr ? &table->own : nullptr);
  Site& site = result_.sites.emplace_back();
  fill(Scope::site, given, site, no_listener_);
  settle_certificate(given, site);
  for (const std::string_view key :
       {"root", "store", "cert", "key", "ocsp", "auth", "error-pages"}) {
    const Assignment* const found = given.find(key);
    if (found != nullptr) site.places.emplace(key, found->place);
  }
  check_site(given, result_, problems_);
  if (site.acme) check_acme(given, site);
  if (!site.store.place.empty()) {
    site.root.clear();
    site.files.compress = false;  // objects are sent as they are
  }
  if (table == nullptr) return;
  site.place = table->place;
  if (given.find("root") == nullptr) {
    site.root.clear();
    if (site.store.place.empty() && site.redirects.empty()) {
      problems_.add(site.place,
                    "a [[site]] needs root, the directory to serve, or store, or redirect");
    }
  }
  check_hosts(site, given.find("host"));
}

void Assembly::settle_certificate(const Given& given, Site& site) {
  const bool named = given.find("cert") != nullptr || given.find("key") != nullptr;
  if (site.certificate == CertificateSource::own && named) {
    site.certificate = CertificateSource::files;
  }
  if (site.certificate != CertificateSource::files &&
      site.certificate != CertificateSource::self_signed) {
    return;
  }
  if (site.certificate_file.empty()) site.certificate_file = usual_certificate;
  if (site.key_file.empty()) site.key_file = usual_key;
}

// Wildcards need dns-01, and public authorities hardly issue for addresses.
void Assembly::check_acme(const Given& given, const Site& site) {
  const Place& place = given.find("acme")->place;
  for (const std::string_view key : {"cert", "key", "self-signed", "local-ca", "ocsp"}) {
    if (given.find(key) == nullptr) continue;
    problems_.add(place, fmt::format("acme gets its own certificate; leave out {}", key));
    return;
  }
  const auto& listeners = result_.listeners;
  if (std::ranges::all_of(listeners, &Listener::cleartext)) {
    problems_.add(place, "acme has no effect without TLS; add a [[listener]] without h2c");
  } else if (result_.acme.http_challenge && std::ranges::none_of(listeners, &Listener::cleartext)) {
    problems_.add(
        place, "acme-challenge = \"http-01\" needs a [[listener]] with h2c or redirect, to which "
               "port 80 of the hosts leads");
  } else if (result_.server.scheme == ServerScheme::process_per_connection) {
    problems_.add(place, "acme does not work with --scheme process-per-connection");
  } else if (site.hosts.empty()) {
    problems_.add(place, "acme needs host, the names to get a certificate for");
  }
  for (const std::string& host : site.hosts) {
    if (net::is_dns_name(host)) continue;
    problems_.add(place, fmt::format("acme gets certificates for single names, not for {}", host));
  }
}

void Assembly::check_acme_effect(const Given& given) {
  if (std::ranges::any_of(result_.sites, &Site::acme)) return;
  for (const std::string_view key :
       {"acme-directory", "acme-email", "acme-ca", "acme-challenge", "acme-store"}) {
    const Assignment* const found = given.find(key);
    if (found == nullptr) continue;
    problems_.add(found->place, fmt::format("{} has no effect: no [[site]] has acme = true", key));
  }
}

void Assembly::check_hosts(const Site& site, const Assignment* hosts) {
  for (const std::string& host : site.hosts) {
    const auto [other, added] = hosts_.try_emplace(host, hosts->place);
    if (added) continue;
    problems_.add(hosts->place, fmt::format("host = \"{}\": it has a site already, at {}", host,
                                            name_of(other->second)));
  }
  if (!site.hosts.empty() || (hosts != nullptr && !hosts->values.empty())) return;
  if (site_for_others_ == nullptr) {
    site_for_others_ = &site;
    return;
  }
  problems_.add(site.place, fmt::format("a second [[site]] without host; the first one is at {}",
                                        name_of(site_for_others_->place)));
}

}  // namespace

Configuration assemble(const Assignments& command_line, const Settings& file, Problems& problems) {
  return Assembly(command_line, file, problems).run();
}

}  // namespace h2server::config
