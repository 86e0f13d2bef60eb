// The certificate, the key, the root and the upload directory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"
#include "app/options/options.h"
#include "base/fd.h"
#include "content/storage/upload_space.h"
#include "file/content.h"
#include "file/slow_file_system.h"
#include "net/certs/tls_inspection.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

// Certificates of 90 days are usually renewed 30 days before their end.
constexpr std::int64_t overdue_days = 14;
constexpr std::size_t names_shown_max = 3;
constexpr std::uint64_t inodes_good = 1000;

// What a problem with the files for TLS has as a remedy.
std::string tls_remedy(const char* option) {
  return fmt::format("name it with {}; or --self-signed makes a pair for trials, --h2c serves "
                     "without TLS",
                     option);
}

// Returns why a file can't be read, or an empty string.
std::string unreadable(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) {
    return errno == ENOENT || errno == ENOTDIR
               ? file + " does not exist"
               : fmt::format("can't find {}: {}", file, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return file + " is a directory";
  if (::access(file.c_str(), R_OK) == 0) return {};
  return errno == EACCES ? "this user may not read " + file
                         : fmt::format("can't read {}: {}", file, std::strerror(errno));
}

bool is_regular(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool exists(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

// Returns true if the server will make both files.
bool will_be_made(const DoctorInput& input) {
  return input.self_signed && !exists(input.certificate_file) && !exists(input.key_file);
}

// Returns the nearest folder of the path that exists, itself included.
fs::path nearest_folder(const std::string& path) {
  std::error_code failure;
  fs::path folder = fs::absolute(path, failure);
  while (!fs::exists(folder, failure) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::string date_of(std::int64_t time_s) {
  using std::chrono::sys_seconds;
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(sys_seconds(std::chrono::seconds(time_s))));
  return fmt::format("{}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

// "for a.example, b.example and 3 others"
std::string names_text(const std::vector<std::string>& names) {
  std::string text = "for ";
  const std::size_t shown = std::min(names.size(), names_shown_max);
  for (std::size_t at = 0; at < shown; ++at) text += (at == 0 ? "" : ", ") + names[at];
  if (names.size() > shown) text += " and " + counted(names.size() - shown, "other");
  return text;
}

Finding judge(const net::CertificateFacts& facts, std::int64_t now_s) {
  const char* const title = "certificate";
  const std::int64_t days = (facts.end_s - now_s) / (24 * 3600);
  if (facts.end_s <= now_s) {
    return {Level::problem, title,
            fmt::format("expired on {}; clients refuse it", date_of(facts.end_s)),
            "renew it, or name another with --cert and --key"};
  }
  if (facts.begin_s > now_s) {
    return {Level::problem, title,
            fmt::format("not valid before {}; clients refuse it", date_of(facts.begin_s)),
            "wait, name another with --cert and --key, or set this machine's clock"};
  }
  if (facts.names.empty()) {
    return {Level::problem, title, "it names no host (subjectAltName), so browsers refuse it",
            "have one made for the host names of this server"};
  }
  const std::string text =
      fmt::format("{}; valid until {}, {} left", names_text(facts.names), date_of(facts.end_s),
                  counted(static_cast<std::uint64_t>(days), "day"));
  if (days < overdue_days) return {Level::note, title, text, "renew it before it expires"};
  if (facts.self_signed) {
    return {Level::note, title, text + "; self-signed, so browsers ask before they go on",
            "for the public, use one of an authority, such as Let's Encrypt"};
  }
  if (facts.others == 0) {
    return {Level::note, title,
            text + "; the file holds no certificate of the authority behind it (no chain), so some "
                   "clients may not trust it",
            "use the file with the whole chain, often called fullchain.pem"};
  }
  return {Level::ok, title, text, ""};
}

// Returns true if users other than the owner and the group may read or change the file.
bool open_to_all(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 && (status.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

std::uint64_t reserve_of(const DiskFacts& disk, const DoctorInput& input) {
  using Limits = content::UploadSpaceLimits;
  return input.reserve_bytes.value_or(
      std::min(Limits::reserve_bytes, disk.size / Limits::reserve_divisor));
}

constexpr unsigned long tmpfs_magic = 0x01021994;  // statfs(2)
constexpr unsigned long ramfs_magic = 0x858458f6;

// Nullopt if the file system does not tell (EIO, ENOSYS, EACCES).
std::optional<DiskFacts> disk_of(const fs::path& folder) {
  struct statfs found{};
  int result = -1;
  do {
    result = ::statfs(folder.c_str(), &found);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return std::nullopt;
  const auto unit =
      static_cast<std::uint64_t>(found.f_frsize != 0 ? found.f_frsize : found.f_bsize);
  const auto kind = static_cast<unsigned long>(found.f_type);
  return DiskFacts{.size = found.f_blocks * unit,
                   .free = found.f_bavail * unit,
                   .inodes = found.f_files,
                   .inodes_free = found.f_ffree,
                   .read_only = (static_cast<unsigned long>(found.f_flags) & ST_RDONLY) != 0,
                   .in_memory = kind == tmpfs_magic || kind == ramfs_magic};
}

// Returns the path of one of the first regular files in the folder that has content, or "".
std::string file_in(const std::string& folder) {
  constexpr int looked_at_max = 100;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (int i = 0; !failure && entry != fs::directory_iterator() && i < looked_at_max; ++i) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable) && entry->file_size(unreadable) > 0) {
      return entry->path();
    }
    entry.increment(failure);
  }
  return "";
}

// Maps a file as the server would. Returns 0, also if it can't be opened, or an errno value.
int map_once(const std::string& path) {
  base::Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const std::optional<file::FileVersion> version = file::version_of(opened.get());
  if (!version || version->size == 0) return 0;
  return file::Content::map(*version, std::move(opened))->may_wait() ? errno : 0;
}

}  // namespace

Finding check_certificate(const DoctorInput& input, std::int64_t now_s) {
  const char* const title = "certificate";
  if (will_be_made(input)) {
    const fs::path folder = nearest_folder(input.certificate_file);
    if (::access(folder.c_str(), W_OK | X_OK) == 0) {
      return {Level::ok, title, "--self-signed will make " + input.certificate_file, ""};
    }
    return {Level::problem, title,
            fmt::format("--self-signed can't make {}: {}", input.certificate_file,
                        std::strerror(errno)),
            fmt::format("make {} writable, or name another place with --cert and --key",
                        folder.string())};
  }
  const std::string obstacle = unreadable(input.certificate_file);
  if (!obstacle.empty()) return {Level::problem, title, obstacle, tls_remedy("--cert")};
  if (!is_regular(input.certificate_file)) {
    return {Level::note, title, input.certificate_file + " is not a regular file; not looked at",
            ""};
  }
  const auto facts = net::inspect_certificate(input.certificate_file);
  if (facts) return judge(*facts, now_s);
  return {Level::problem, title,
          fmt::format("{} holds no certificate in PEM form ({})", input.certificate_file,
                      facts.error()),
          tls_remedy("--cert")};
}

Finding check_key(const DoctorInput& input) {
  const char* const title = "private key";
  const std::string& file = input.key_file;
  if (will_be_made(input)) return {Level::ok, title, "--self-signed will make " + file, ""};
  const std::string obstacle = unreadable(file);
  if (!obstacle.empty()) return {Level::problem, title, obstacle, tls_remedy("--key")};
  if (!is_regular(file)) {
    return {Level::note, title, file + " is not a regular file; not looked at", ""};
  }
  const auto fit = net::inspect_key(input.certificate_file, file);
  if (!fit) {
    return {Level::problem, title,
            fmt::format("{} holds no private key in PEM form ({})", file, fit.error()),
            tls_remedy("--key")};
  }
  if (*fit == net::KeyFit::differs) {
    return {Level::problem, title,
            fmt::format("{} belongs to another certificate than {}", file, input.certificate_file),
            "name the right one with --key"};
  }
  for (const std::string& served : {input.root, input.upload_directory}) {
    if (served.empty() || !lies_below(file, served)) continue;
    return {Level::problem, title,
            fmt::format("{} lies below {} and would be served", file, served),
            "move it, or name another with --key"};
  }
  if (open_to_all(file)) {
    return {Level::problem, title, "every user of this machine may read or change " + file,
            "chmod o= " + file};
  }
  switch (*fit) {
    case net::KeyFit::encrypted:
      return {Level::note, title,
              file + " is encrypted: the server asks for its passphrase, so it can't start without "
                     "a person",
              ""};
    case net::KeyFit::unknown:
      return {Level::ok, title, file + " can be read; the certificate can't", ""};
    case net::KeyFit::differs:
    case net::KeyFit::fits:
      break;
  }
  return {Level::ok, title, "belongs to the certificate; other users can't read it", ""};
}

Finding check_root(const DoctorInput& input) {
  const char* const title = "root";
  std::error_code failure;
  if (!fs::is_directory(input.root, failure)) {
    const bool missing = !failure || failure == std::errc::no_such_file_or_directory;
    return {Level::problem, title,
            fmt::format("{} {}", input.root,
                        missing ? "is not a directory" : "can't be reached: " + failure.message()),
            "make it, or name another with --root"};
  }
  if (::access(input.root.c_str(), X_OK) != 0) {
    return {
        Level::problem, title,
        fmt::format("this user may not open files in {} ({})", input.root, std::strerror(errno)),
        "allow it with chmod, or name another with --root"};
  }
  const base::Fd root(::open(input.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (file::may_wait(root.get())) {
    return {Level::ok, title,
            input.root + " can be read; its file system is on a network or in another process, so "
                         "threads read its files and nothing else waits for it",
            ""};
  }
  const std::string file = file_in(input.root);
  const int error = file.empty() ? 0 : map_once(file);
  if (error != 0) {
    return {
        Level::note, title,
        fmt::format("{} can't be mapped into memory ({}), so it is read piece by piece, which is "
                    "slower",
                    file, std::strerror(error)),
        "serve such files from another file system, or leave it so"};
  }
  return {Level::ok, title, input.root + " can be read", ""};
}

Finding check_disk(const DiskFacts& disk, const DoctorInput& input) {
  const char* const title = "uploads";
  const std::string& folder = input.upload_directory;
  const std::string elsewhere = "name another place with --upload-dir";
  if (disk.read_only) {
    return {Level::problem, title, folder + " lies on a file system that is read-only",
            "mount it writable, or " + elsewhere};
  }
  if (disk.inodes != 0 && disk.inodes_free == 0) {
    return {Level::problem, title,
            "the disk of " + folder + " has no room for another file (inode)",
            "remove files, or " + elsewhere};
  }
  if (disk.size == 0) return {Level::ok, title, folder + " can be written", ""};
  const std::uint64_t reserve = reserve_of(disk, input);
  if (disk.free <= reserve) {
    return {Level::problem, title,
            fmt::format("{} are free, and {} are kept free, so uploads are refused",
                        bytes_text(disk.free), bytes_text(reserve)),
            fmt::format("free some, lower --upload-reserve, or {}", elsewhere)};
  }
  std::string text =
      fmt::format("{} can be written; room for {}", folder, bytes_text(disk.free - reserve));
  if (disk.inodes != 0 && disk.inodes_free < inodes_good) {
    return {Level::note, title,
            fmt::format("{}, but only for {}", text, counted(disk.inodes_free, "file")),
            "remove files, or " + elsewhere};
  }
  if (disk.in_memory) {
    return {
        Level::note, title,
        text + "; it lies in memory, so uploads take memory and are lost when the machine stops",
        elsewhere};
  }
  return {Level::ok, title, std::move(text), ""};
}

Finding check_uploads(const DoctorInput& input) {
  const char* const title = "uploads";
  const std::string& folder = input.upload_directory;
  const fs::path nearest = nearest_folder(folder);
  std::error_code failure;
  if (!fs::is_directory(nearest, failure)) {
    return {Level::problem, title, nearest.string() + " is not a directory",
            "name another place with --upload-dir"};
  }
  const std::optional<DiskFacts> disk = disk_of(nearest);
  if (disk && disk->read_only) return check_disk(*disk, input);
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    return {Level::problem, title, fmt::format("this user may not write to {}", nearest.string()),
            "give it to the server's user with chown, or name another place with --upload-dir"};
  }
  return check_disk(disk.value_or(DiskFacts{}), input);
}

}  // namespace h2server::app
