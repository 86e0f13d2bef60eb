// The databases of NSS: browsers on Linux do not use the system's certificates.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "app/system/run_program.h"
#include "app/trust/trust_stores.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

// Relative to the home. Chromium and its relatives: one database for all; since version 146 the
// second, unless the first exists. Packages of snap and Flatpak have homes of their own.
constexpr std::array databases{
    ".pki/nssdb",
    ".local/share/pki/nssdb",
    "snap/chromium/current/.pki/nssdb",
    ".var/app/org.chromium.Chromium/.pki/nssdb",
    ".var/app/com.google.Chrome/.pki/nssdb",
};
// Firefox: a database for each profile, a folder in one of these.
constexpr std::array profile_folders{
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
};

// An authority of the same name that was made earlier is in a database beside the present one.
constexpr int removals_max = 16;

bool is_database(const fs::path& folder) {
  std::error_code failure;
  return fs::is_regular_file(folder / "cert9.db", failure);
}

// Returns certutil's path; nullopt if there is none, which is reported.
std::optional<std::string> find_certutil(TrustReport& report) {
  std::optional<std::string> program = find_program("certutil");
  if (!program) {
    report.fail("the browsers' certificates need certutil; install it (Debian, Ubuntu: "
                "libnss3-tools, Fedora: nss-tools, Arch: nss, openSUSE: mozilla-nss-tools), then "
                "run this again");
  }
  return program;
}

std::vector<std::string> certutil_command(const std::string& certutil, const std::string& database,
                                          const TrustedFile& ca, const char* action) {
  return {certutil, "-d", "sql:" + database, action, "-n", ca.name};
}

// Runs certutil for its effect. Returns true if it succeeded; else the reason is reported.
bool change(const std::vector<std::string>& command, TrustReport& report) {
  const Result<int, int> status = run_program(command, Output::shown);
  if (status && *status == 0) return true;
  const std::string reason =
      status ? fmt::format("status {}", *status) : std::string(std::strerror(status.error()));
  report.fail("certutil failed ({}); close the browser, then run: {}", reason,
              command_line(command));
  return false;
}

// An error means that certutil could not be started, which change() reports when it tries.
bool contains(const std::string& certutil, const std::string& database, const TrustedFile& ca) {
  const Result<int, int> status =
      run_program(certutil_command(certutil, database, ca, "-L"), Output::hidden);
  return !status || *status == 0;
}

void remove_from(const std::string& database, const std::string& certutil, const TrustedFile& ca,
                 TrustReport& report) {
  if (!contains(certutil, database, ca)) {
    report.say("Browser ({}): it is not in there", database);
    return;
  }
  for (int i = 0; i < removals_max && contains(certutil, database, ca); ++i) {
    if (!change(certutil_command(certutil, database, ca, "-D"), report)) return;
  }
  report.say("Browser ({}): removed", database);
}

}  // namespace

std::vector<std::string> nss_databases(const std::string& home) {
  std::vector<std::string> found;
  for (const char* const folder : databases) {
    if (is_database(fs::path(home) / folder)) found.push_back(home + "/" + folder);
  }
  for (const char* const folder : profile_folders) {
    std::error_code failure;
    fs::directory_iterator profile(fs::path(home) / folder, failure);
    // A folder that vanishes or can't be read ends the iteration.
    for (; !failure && profile != fs::directory_iterator(); profile.increment(failure)) {
      if (is_database(profile->path())) found.push_back(profile->path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

void install_in_browsers(const TrustedFile& ca, const std::string& home, TrustReport& report) {
  const std::vector<std::string> found = nss_databases(home);
  if (found.empty()) {
    report.say("Browsers: {} has no database of Chromium or Firefox; they make theirs when they "
               "are started for the first time",
               home);
    return;
  }
  const std::optional<std::string> certutil = find_certutil(report);
  if (!certutil) return;
  for (const std::string& database : found) {
    std::vector<std::string> command = certutil_command(*certutil, database, ca, "-A");
    // "C,,": trusted to sign for servers, not for mail or programs.
    command.insert(command.end(), {"-t", "C,,", "-i", ca.file});
    if (change(command, report)) report.say("Browser ({}): installed", database);
  }
  report.say("Browsers that run use it after a restart");
}

void remove_from_browsers(const TrustedFile& ca, const std::string& home, TrustReport& report) {
  const std::vector<std::string> found = nss_databases(home);
  if (found.empty()) {
    report.say("Browsers: {} has no database of Chromium or Firefox", home);
    return;
  }
  const std::optional<std::string> certutil = find_certutil(report);
  if (!certutil) return;
  for (const std::string& database : found) remove_from(database, *certutil, ca, report);
}

}  // namespace h2server::app
