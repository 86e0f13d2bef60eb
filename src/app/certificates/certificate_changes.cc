#include "app/certificates/certificate_changes.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "net/certs/tls_inspection.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

bool is_pair(const CertificateFiles& files) {
  const auto fit = net::inspect_key(files.certificate_file, files.key_file);
  return fit && (*fit == net::KeyFit::fits || *fit == net::KeyFit::encrypted);
}

}  // namespace

CertificateChanges::CertificateChanges(std::vector<CertificateFiles> files, ChangeLimits limits,
                                       std::vector<std::string> others)
    : files_(std::move(files)), limits_(limits), others_(std::move(others)), loaded_(stamps()) {}

std::vector<std::string> CertificateChanges::paths() const {
  std::vector<std::string> all = others_;
  for (const CertificateFiles& one : files_) {
    all.insert(all.end(), {one.certificate_file, one.key_file, one.ocsp_file});
  }
  return all;
}

CertificateChanges::Stamps CertificateChanges::stamps() const {
  Stamps all;
  for (const std::string& path : paths()) all.push_back(net::stamp_of(path));
  return all;
}

bool CertificateChanges::all_fit() const { return std::ranges::all_of(files_, is_pair); }

CertificateChanges::Verdict CertificateChanges::look(std::int64_t now_ms) {
  Stamps now = stamps();
  if (now == loaded_) {
    pending_.reset();
    return {};
  }
  if (!pending_)
    pending_ = {.stamps = {}, .settled_ms = 0, .give_up_ms = now_ms + limits_.settle_ms_max};
  if (pending_->stamps != now) {
    pending_->stamps = now;
    pending_->settled_ms = now_ms + limits_.settle_ms;
  }
  if (now_ms < pending_->give_up_ms) {
    if (now_ms < pending_->settled_ms) {
      return {.again_ms = std::min(pending_->settled_ms, pending_->give_up_ms)};
    }
    if (!all_fit()) return {.again_ms = pending_->give_up_ms};
  }
  loaded_ = std::move(now);
  pending_.reset();
  return {.load = true};
}

void add_watched_names(const std::string& path, WatchedNames& watched) {
  constexpr int links_max = 40;  // as the kernel's: path_resolution(7)
  std::error_code failure;
  const fs::path absolute = fs::absolute(path, failure);
  if (path.empty() || failure) return;
  std::deque<fs::path> parts(++absolute.begin(), absolute.end());  // without the root
  fs::path folder = "/";
  for (int links = 0; !parts.empty();) {
    const fs::path part = std::move(parts.front());
    parts.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      folder = folder.parent_path();  // it has no links
      continue;
    }
    const fs::path whole = folder / part;
    const fs::file_status status = fs::symlink_status(whole, failure);
    const bool is_link = fs::is_symlink(status);
    if (is_link || parts.empty() || !fs::exists(status)) {
      watched.folders.insert(folder);
      watched.names.insert(part);
    }
    if (!fs::exists(status)) return;  // exists() is true for a link that leads nowhere
    if (!is_link) {
      folder = whole;
      continue;
    }
    const fs::path target = fs::read_symlink(whole, failure);
    if (failure || ++links > links_max) return;
    if (target.is_absolute()) folder = "/";
    const auto begin = target.is_absolute() ? ++target.begin() : target.begin();
    parts.insert(parts.begin(), begin, target.end());
  }
}

}  // namespace h2server::app
