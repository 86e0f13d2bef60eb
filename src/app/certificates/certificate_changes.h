// CertificateChanges: tells when changed certificate files are to be loaded.
//
// A certificate and its key are written one after the other. So a change waits until the files stay
// as they are for a moment and each key belongs to its certificate, but only for some seconds.
//
// Files are compared by what stat() says of them; links are followed. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "h2server/options.h"
#include "net/certs/file_stamp.h"

namespace h2server::app {

struct ChangeLimits {
  std::int64_t settle_ms = 200;        // how long the files stay as they are
  std::int64_t settle_ms_max = 5'000;  // since the first change; then they are loaded as they are
};

class CertificateChanges {
 public:
  // The files are in use as they are now. `others`: what is loaded with them, such as ticket keys.
  explicit CertificateChanges(std::vector<CertificateFiles> files, ChangeLimits limits = {},
                              std::vector<std::string> others = {});

  struct Verdict {
    bool load = false;
    // When to look again, even if nothing else happens; with `load`, there is nothing to wait for.
    std::optional<std::int64_t> again_ms = {};
  };
  // Looks at the files. If they are to be loaded, they count as loaded. `now_ms` never goes back.
  Verdict look(std::int64_t now_ms);

  [[nodiscard]] const std::vector<CertificateFiles>& files() const noexcept { return files_; }
  // All of them; empty ones are of certificates that have no such file.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  using Stamps = std::vector<net::FileStamp>;
  struct Pending {
    Stamps stamps;
    std::int64_t settled_ms = 0;
    std::int64_t give_up_ms = 0;
  };

  [[nodiscard]] Stamps stamps() const;
  [[nodiscard]] bool all_fit() const;

  const std::vector<CertificateFiles> files_;
  const ChangeLimits limits_;
  const std::vector<std::string> others_;
  Stamps loaded_;
  std::optional<Pending> pending_;
};

// Where a change shows that may lead a path to another file.
struct WatchedNames {
  std::set<std::string> folders;
  std::set<std::string> names;  // in any of them: the file's, and those of links on the way

  auto operator<=>(const WatchedNames&) const = default;
};

// Adds what leads to `path`: the folder of the file, and those of the links to it or to its folder.
// The parts of a path that do not exist yet are awaited in the deepest folder that does.
void add_watched_names(const std::string& path, WatchedNames& watched);

}  // namespace h2server::app
