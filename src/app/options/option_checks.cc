#include "app/options/option_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/acme/acme_store.h"
#include "app/client/stores.h"
#include "app/options/options.h"
#include "app/system/state_directory.h"
#include "content/files/file_requests.h"

namespace h2server::app {

namespace fs = std::filesystem;

using config::CertificateSource;
using config::Configuration;
using config::Site;

namespace {

constexpr const char* usual_key = "./cert/server.key";  // worth a look even if it is not in use

fs::path full_path(const std::string& path) {
  std::error_code failure;
  // Made absolute first: a relative path whose first part does not exist would stay relative.
  return fs::weakly_canonical(fs::absolute(path, failure), failure);
}

// Both paths are full, or empty if they can't be found out.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

bool path_exists(const std::string& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

struct Secret {
  std::string_view what;
  std::string path;         // a file, or a directory with all that is in it
  std::string_view remedy;  // empty: that of where it would be served
  bool is_directory = false;
};

// Returns what must stay secret and exists, or will exist when the server runs. No path twice.
class Secrets {
 public:
  explicit Secrets(const Configuration& configuration) {
    const bool tls = !std::ranges::all_of(configuration.listeners, &config::Listener::cleartext);
    for (const Site& site : configuration.sites) add_site(site, tls);
    if (path_exists(usual_key)) add_key(usual_key, tls);
    for (const std::string& file : configuration.server.ticket_key_files) {
      add({"the ticket key", file, "move it"});
    }
    add_log(configuration.log.usual);
    if (!configuration.log.error_log.empty()) {
      add({"the error log", configuration.log.error_log, "move it"});
    }
    for (const std::string& file : configuration.all_files)
      add({"the configuration", file, "move it"});
    add_state((tls && own_keys_) || has_tokens_);
  }

  [[nodiscard]] const std::vector<Secret>& all() const noexcept { return all_; }

 private:
  void add(Secret secret) {
    if (known_.insert(secret.path).second) all_.push_back(std::move(secret));
  }
  void add_log(const std::string& log) {
    const bool is_file = !log.empty() && log != "-" && log != "syslog";
    if (is_file) add({"the access log", log, "move it"});
  }
  void add_key(const std::string& file, bool tls) {
    add({"the private key", file, tls ? "move it, or name another with --key" : "move it"});
  }
  void add_site(const Site& site, bool tls);
  void add_state(bool used);

  std::vector<Secret> all_;
  std::unordered_set<std::string> known_;
  bool own_keys_ = false;    // a site uses keys of the state directory
  bool has_tokens_ = false;  // a site has the key of links there
};

void Secrets::add_site(const Site& site, bool tls) {
  for (const config::ProtectedPath& area : site.protected_paths) {
    add({"the file of users", area.user_file, "move it"});
  }
  if (!site.upload_token_file.empty()) {
    add({"the file of upload tokens", site.upload_token_file, "move it"});
  }
  has_tokens_ = has_tokens_ || site.upload_access != config::UploadAccess::open;
  const bool key_named = site.certificate == CertificateSource::files ||
                         site.certificate == CertificateSource::self_signed;
  own_keys_ = own_keys_ || !key_named;
  if (tls && key_named) add_key(site.key_file, tls);
  for (const CertificateFiles& one : site.more_certificates) {
    if (tls) add_key(one.key_file, tls);
  }
  add_log(site.access_log);
}

void Secrets::add_state(bool used) {
  const auto state = state_directory_name();
  if (!state || (!path_exists(*state) && !used)) return;
  add({"the private keys in", *state, "", true});
  // They may be links to another place.
  for (const char* const key : {"self-signed/server.key", "ca/server.key", "ca/ca.key"}) {
    add({"the private key", fmt::format("{}/{}", *state, key), ""});
  }
}

// A directory that visitors see.
struct Served {
  const Site* site;
  std::string_view what;
  std::string given;  // as the configuration names it
  std::string_view remedy;
  bool is_root;  // otherwise uploads
};

class PlaceCheck {
 public:
  PlaceCheck(const Configuration& configuration, config::Problems& problems)
      : configuration_(configuration), secrets_(configuration), problems_(problems) {}

  void run();

 private:
  void add(const Site& site, const std::string& text) { add(site, site.place, text); }
  void add(const Site& site, const config::Place& place, const std::string& text);
  enum class WideEffect : bool { offers, mixes };  // of a root, of an upload directory
  bool refuse_wide(const Site& site, const config::Place& place, const std::string& directory,
                   WideEffect effect);
  bool check_root(const Site& site);
  void check_uploads(const Site& site);
  void check_secret(const Secret& secret);
  void check_path(const Secret& secret, const fs::path& file);
  void check_overlaps();
  void check_stores();
  void refuse(const Secret& secret, const Served& served);
  static bool shows(const Served& served, const std::string& inner);

  const Configuration& configuration_;
  const Secrets secrets_;
  config::Problems& problems_;
  std::map<std::string, std::vector<Served>> served_;  // by full path
  std::unordered_set<const Site*> refused_;
};

void PlaceCheck::add(const Site& site, const config::Place& place, const std::string& text) {
  if (refused_.insert(&site).second) problems_.add(place, text);
}

void PlaceCheck::run() {
  for (const Site& site : configuration_.sites) {
    if (!site.root.empty() && check_root(site)) {
      std::vector<Served>& there = served_[full_path(site.root).string()];
      // Of sites with the same root, one that hides files and one that does not are enough.
      const auto same = [&site](const Served& one) {
        return one.is_root && one.site->files.hidden == site.files.hidden;
      };
      if (std::ranges::none_of(there, same)) {
        there.push_back({&site, "root", site.root, "name another root", true});
      }
    }
    if (site.upload_directory.empty()) continue;
    check_uploads(site);
    std::vector<Served>& there = served_[full_path(site.upload_directory).string()];
    if (std::ranges::any_of(there, [](const Served& one) { return !one.is_root; })) continue;
    there.push_back({&site, "upload directory", site.upload_directory,
                     "name another with --upload-dir", false});
  }
  for (const Secret& secret : secrets_.all()) check_secret(secret);
  check_overlaps();
  check_stores();
}

// Returns what the directory would offer if nobody shares that much on purpose, else an empty
// string.
std::string describe_wide(const std::string& directory) {
  std::error_code failure;
  if (fs::equivalent(directory, "/", failure)) return "the whole machine";
  const std::string home = home_directory();
  const bool is_home = !home.empty() && fs::equivalent(directory, home, failure);
  return is_home ? "all files of " + home : std::string();
}

// Returns true if nobody shares that much on purpose.
bool PlaceCheck::refuse_wide(const Site& site, const config::Place& place,
                             const std::string& directory, WideEffect effect) {
  if (configuration_.serve_all) return false;
  const std::string all = describe_wide(directory);
  if (all.empty()) return false;
  const std::string wrong =
      effect == WideEffect::offers
          ? fmt::format("the root {} would offer {} to everyone who reaches this port", directory,
                        all)
          : fmt::format("the upload directory {} would mix uploads with {}", directory, all);
  add(site, place, wrong + "; name a folder in it, or add --yes if that is what you want");
  return true;
}

bool PlaceCheck::check_root(const Site& site) {
  const auto given = site.places.find("root");
  const config::Place& place = given != site.places.end() ? given->second : site.place;
  std::error_code failure;
  if (!fs::is_directory(site.root, failure)) {
    const bool missing = !failure || failure == std::errc::no_such_file_or_directory;
    const std::string reason = missing ? "it is not a directory" : failure.message();
    add(site, place,
        fmt::format("can't serve the root {}: {}; name another with --root", site.root, reason));
    return false;
  }
  return !refuse_wide(site, place, site.root, WideEffect::offers);
}

// A directory that is missing is made later.
void PlaceCheck::check_uploads(const Site& site) {
  std::error_code failure;
  const fs::file_status status = fs::status(site.upload_directory, failure);
  if (!fs::exists(status)) return;
  const char* reason = "it is not a directory";
  if (fs::is_directory(status)) {
    if (::access(site.upload_directory.c_str(), W_OK | X_OK) == 0) {
      refuse_wide(site, site.place, site.upload_directory, WideEffect::mixes);
      return;
    }
    reason = std::strerror(errno);
  }
  add(site, fmt::format("can't write to the upload directory {}: {}; name another with "
                        "--upload-dir",
                        site.upload_directory, reason));
}

void PlaceCheck::refuse(const Secret& secret, const Served& served) {
  add(*served.site,
      fmt::format("the {} {} would show {} {}; {}", served.what, served.given, secret.what,
                  secret.path, secret.remedy.empty() ? served.remedy : secret.remedy));
}

void PlaceCheck::check_secret(const Secret& secret) {
  const fs::path target = full_path(secret.path);
  check_path(secret, target);
  // A link to it shows it as well.
  const fs::path given = "." / fs::path(secret.path);
  const fs::path name = full_path(given.parent_path().string()) / given.filename();
  if (name != target) check_path(secret, name);
  std::error_code failure;
  if (!secret.is_directory && !fs::is_directory(target, failure)) return;
  const std::string above = target.string() + "/";
  for (const auto& [directory, all] : served_) {
    if (directory != target.string() && !directory.starts_with(above)) continue;
    for (const Served& one : all) refuse(secret, one);
  }
}

// Returns true if clients can get that file below the directory. Folders of uploads may be made
// by clients, or shown as those of the directory.
bool PlaceCheck::shows(const Served& served, const std::string& inner) {
  const Site& site = *served.site;
  if (served.is_root) return site.files.hidden || !content::is_hidden(inner);
  const bool folders = site.uploads.folders || site.webdav;
  return !content::has_hidden_segment(inner) && (folders || !inner.contains('/'));
}

// Looks at the directories above the file: are they served, and would the file be?
void PlaceCheck::check_path(const Secret& secret, const fs::path& file) {
  for (fs::path directory = file;; directory = directory.parent_path()) {
    const auto found = served_.find(directory.string());
    if (found != served_.end() && directory != file) {
      const std::string inner = file.lexically_relative(directory).string();
      for (const Served& one : found->second) {
        if (shows(one, inner)) refuse(secret, one);
      }
    }
    if (directory == directory.parent_path()) return;
  }
}

// The private keys in the acme-store must not be objects of a site.
void PlaceCheck::check_stores() {
  const config::AcmeSettings& acme = configuration_.acme;
  if (acme.store.empty()) return;
  for (const Site& site : configuration_.sites) {
    if (site.store.place.empty()) continue;
    const auto key = key_below(site.store.place, acme.store, acme_name(acme.directory));
    if (!key || (!site.files.hidden && content::is_hidden(*key))) continue;
    const auto given = site.places.find("store");
    add(site, given != site.places.end() ? given->second : site.place,
        fmt::format("the store {} would show the private keys in the acme-store {}; name another "
                    "place with acme-store",
                    site.store.place, acme.store));
  }
}

// Uploads must not be served as pages of any site, and no site must lie among uploads.
void PlaceCheck::check_overlaps() {
  for (const auto& [path, all] : served_) {
    for (const Served& inner : all) {
      for (fs::path above = path;; above = above.parent_path()) {
        const auto found = served_.find(above.string());
        if (found != served_.end()) {
          for (const Served& outer : found->second) {
            if (outer.is_root == inner.is_root) continue;
            const Served& root = inner.is_root ? inner : outer;
            const Served& uploads = inner.is_root ? outer : inner;
            add(*uploads.site, overlapping(root.given, uploads.given).text);
          }
        }
        if (above == above.parent_path()) break;
      }
    }
  }
}

}  // namespace

bool lies_below(const std::string& file, const std::string& directory) {
  return is_within(full_path(file), full_path(directory));
}

Stop overlapping(const std::string& root, const std::string& upload_directory) {
  return {exit_wrong_use,
          fmt::format("the root {} and the upload directory {} overlap, so that uploads "
                      "would be served as pages of the site; name another with "
                      "--upload-dir",
                      root, upload_directory)};
}

void check_places(const Configuration& configuration, config::Problems& problems) {
  PlaceCheck(configuration, problems).run();
}

}  // namespace h2server::app
