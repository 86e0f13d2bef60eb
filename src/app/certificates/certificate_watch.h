// CertificateWatch: a thread that reloads certificates when their files change, and warns before
// they expire.
//
// It watches the folders of the files with inotify, since editors and ACME clients replace files by
// renaming, and looks at the files themselves now and then, since network file systems tell of no
// changes. If files can't be loaded, those that are in use stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/certificates/certificate_changes.h"
#include "app/certificates/certificate_expiry.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "h2server/options.h"
#include "h2server/result.h"

namespace h2server::app {

struct CertificateWatchOptions {
  // What the server uses now. Files that are named several times count once.
  std::vector<CertificateFiles> files = {};
  std::vector<std::string> other_files = {};  // that are loaded with them: keys of tickets
  // Files among them, by the certificate's, that this program renews.
  std::set<std::string> renewed = {};
  // Loads all of them; called on the thread of the watch, one call at a time.
  std::function<Result<void, std::string>()> reload = {};

  ChangeLimits limits = {};
  std::int64_t look_ms = 3'600'000;  // how often it looks without an event
  std::function<std::int64_t()> unix_s = base::unix_seconds;
  std::function<void(base::Severity, std::string_view)> log = base::log_line;
};

class CertificateWatch {
 public:
  // Make it before the server loads the files: it loads them again if they change from now on.
  explicit CertificateWatch(CertificateWatchOptions options);
  CertificateWatch(const CertificateWatch&) = delete;
  CertificateWatch& operator=(const CertificateWatch&) = delete;
  ~CertificateWatch();

  // Logs what expires soon, and starts the thread. Once, when the files have been loaded. The error
  // is a line for the operator.
  Result<void, std::string> start();
  // Waits for a reload that is under way.
  void stop() noexcept;

  // The certificates in use. Any thread.
  [[nodiscard]] std::vector<CertificateInUse> in_use() const;

 private:
  void run();
  void watch_folders();
  bool wait_until(std::int64_t end_ms);
  bool read_events();
  void load();
  void take_certificates();
  void warn();
  void say_loaded(const std::vector<CertificateInUse>& before) const;

  const CertificateWatchOptions options_;
  CertificateChanges changes_;
  CertificateExpiry expiry_;
  base::Fd stop_;                       // an eventfd
  base::Fd inotify_;                    // invalid: this system has no more of them
  std::map<int, std::string> watches_;  // folders, by the numbers of their watches
  WatchedNames watched_;
  bool failed_ = false;  // the last load
  mutable std::mutex mutex_;
  std::vector<CertificateInUse> in_use_;
  std::thread thread_;
};

// Returns the files of all certificates that `options` name, each once.
std::vector<CertificateFiles> certificate_files_of(const ServerOptions& options);

}  // namespace h2server::app
