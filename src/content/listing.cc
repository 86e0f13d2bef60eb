#include "content/listing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "content/directory_entries.h"
#include "content/file_name.h"
#include "http/date.h"

namespace h2server::content {

namespace {

constexpr std::size_t files_shown_max = 10'000;
constexpr std::size_t page_bytes_max = 4 * 1024 * 1024;  // for long, escaped names

struct ListedFile {
  std::string name;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
};

constexpr std::string_view page_head = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Files</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid #8884; }
th + th, td + td { text-align: right; white-space: nowrap; }
form { margin: 1.5rem 0; padding: 1rem; border: 2px dashed #8888; border-radius: .5rem; }
progress { width: 100%; }
td { overflow-wrap: anywhere; }
</style>
<h1>Files</h1>
)";

// The form works without the script, which adds a progress bar and reloads the page.
constexpr std::string_view page_form = R"(
<input type="file" name="file" multiple required aria-label="Files to upload">
<button>Upload</button>
<p role="status"></p>
</form>
<script>
const form = document.forms[0], status = form.querySelector('[role=status]');
form.addEventListener('submit', event => {
  event.preventDefault();
  const bar = document.createElement('progress'), request = new XMLHttpRequest();
  status.replaceChildren(bar);
  request.upload.onprogress = at => { bar.max = at.total; bar.value = at.loaded; };
  request.onload = () => {
    if (request.status === 201) location.reload();
    else status.textContent = request.responseText || request.statusText;
  };
  request.onerror = () => { status.textContent = 'The connection broke off.'; };
  request.open('POST', form.action);
  request.send(new FormData(form));
});
</script>
)";

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// Escapes everything but RFC 3986's unreserved characters.
std::string escape_segment(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      escaped += c;
    } else {
      constexpr std::string_view digits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      escaped += '%';
      escaped += digits[byte / 16];
      escaped += digits[byte % 16];
    }
  }
  return escaped;
}

std::string readable_size(std::uint64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

Result<std::vector<ListedFile>, int> read_directory(int directory) {
  std::vector<ListedFile> files;
  const Result<void, int> walked = for_each_entry(directory, [&](const char* entry) {
    const std::string_view name = entry;
    if (name.starts_with(temporary_file_prefix)) return true;
    struct stat status{};
    if (::fstatat(directory, entry, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (!S_ISREG(status.st_mode)) return true;
    files.push_back(
        {std::string(name), static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec});
    return files.size() < files_shown_max;
  });
  if (!walked) return std::unexpected(walked.error());
  std::ranges::sort(files, {}, &ListedFile::name);
  return files;
}

}  // namespace

Result<std::string, int> listing_page(int directory, const std::string& base) {
  const Result<std::vector<ListedFile>, int> files = read_directory(directory);
  if (!files) return std::unexpected(files.error());
  const std::string shown_base = escape_html(base);
  std::string page(page_head);
  page += fmt::format("<form method=\"post\" action=\"{}\" enctype=\"multipart/form-data\">",
                      shown_base);
  page += page_form;
  page += "<table>\n<tr><th>Name</th><th>Size</th><th>Modified</th></tr>\n";
  for (const ListedFile& file : *files) {
    if (page.size() > page_bytes_max) break;
    std::array<char, http::date_size> date;
    http::format_date(file.modified, date);
    page += fmt::format("<tr><td><a href=\"{}/{}\">{}</a></td><td>{}</td><td>{}</td></tr>\n",
                        shown_base, escape_segment(file.name), escape_html(file.name),
                        readable_size(file.size), std::string_view(date.data(), date.size()));
  }
  page += "</table>\n";
  if (files->empty()) page += "<p>Nothing here yet.</p>\n";
  page += "</html>\n";
  return page;
}

}  // namespace h2server::content
