#include "content/files/listing_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/random.h"
#include "base/text/harmless_text.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "content/files/pages.h"
#include "content/names/markup.h"
#include "file/calls.h"
#include "h2server/negotiation.h"
#include "h2server/query.h"
#include "http/fields/media_type.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

constexpr std::size_t piece_bytes_min = 32 * 1024;      // of the page, made at once
constexpr std::uint64_t thumbnail_bytes_max = 2 << 20;  // the whole image is fetched for it
constexpr std::size_t filter_bytes_max = 255;           // no name is longer
constexpr std::size_t block_rows = 64;                  // of the table
constexpr std::size_t sorted_at_once_max = 1000;        // takes less than 0.1 ms

constexpr std::array<std::pair<std::string_view, SortKey>, 3> sort_keys = {
    {{"name", SortKey::name}, {"size", SortKey::size}, {"modified", SortKey::modified}}};

std::string shown(std::string_view name) { return base::harmless_text(base::to_valid_utf8(name)); }

Selection selection_of(const Request& request) {
  Selection selection;
  if (request.query().empty()) return selection;
  const Parameters parameters = request.query_parameters();
  std::string_view sort = parameters.find("sort").value_or("");
  selection.descending = sort.starts_with('-');
  if (selection.descending) sort.remove_prefix(1);
  const auto key = std::ranges::find(sort_keys, sort, &decltype(sort_keys)::value_type::first);
  if (key != sort_keys.end()) selection.key = key->second;
  if (key == sort_keys.end()) selection.descending = false;
  selection.filter = parameters.find("filter").value_or("").substr(0, filter_bytes_max);
  return selection;
}

// The classes of icons in listing.css; the script shows a preview for some of them.
char icon_of(const FolderEntry& entry, const http::MediaTypes& types) {
  if (entry.is_folder) return 'd';
  const std::string_view type = types.of(entry.name);
  if (type.starts_with("image/")) return 'i';
  if (type.starts_with("video/")) return 'v';
  if (type.starts_with("audio/")) return 'a';
  if (type.starts_with("text/html")) return 'h';
  if (type.starts_with("text/") || type.ends_with("json") || type.ends_with("yaml") ||
      type.ends_with("toml") || type.ends_with("xml") || type.ends_with("sql")) {
    return 't';
  }
  if (type == "application/pdf") return 'p';
  constexpr std::array<std::string_view, 10> packed = {
      "application/gzip",    "application/zip",
      "application/zstd",    "application/x-7z-compressed",
      "application/x-bzip2", "application/x-xz",
      "application/x-tar",   "application/x-brotli",
      "application/vnd.rar", "application/java-archive"};
  return std::ranges::find(packed, type) != packed.end() ? 'z' : 'f';
}

// A page or a list that is made piece by piece from the entries.
class ListingSource : public BodySource {
 public:
  ListingSource(FolderEntriesRef entries, Selection selection)
      : entries_(std::move(entries)), selection_(std::move(selection)) {}

  Task<Result<std::string_view>> read() override {
    piece_.clear();
    if (!begun_) {
      const bool selected = co_await make_order();
      if (!selected) co_return std::unexpected(Error{ECANCELED, "listing"});
      append_head(piece_);
      begun_ = true;
    }
    while (at_ < count() && piece_.size() < piece_bytes_min) {
      append_entry(piece_, entry(at_), at_);
      ++at_;
    }
    if (at_ == count() && !std::exchange(noted_, true)) append_notes(piece_);
    std::string_view piece = piece_;
    if (piece.empty()) piece = next_of_tail(piece_);
    const std::size_t order = order_ ? order_->capacity() * sizeof(std::uint32_t) : 0;
    charge_.set(piece_.capacity() + order);
    co_return piece;
  }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }
  // Without the entries, which others may share.
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return charge_.bytes(); }

 protected:
  virtual void append_head(std::string& out) const = 0;
  virtual void append_entry(std::string& out, const FolderEntry& entry, std::size_t at) const = 0;
  // What stands below the entries.
  virtual void append_notes(std::string& out) = 0;
  // Returns the next piece of what follows, which may lie in `out`. Empty: the end.
  virtual std::string_view next_of_tail(std::string& out) = 0;

  [[nodiscard]] const FolderEntries& entries() const noexcept { return *entries_; }
  [[nodiscard]] const Selection& selection() const noexcept { return selection_; }
  [[nodiscard]] std::size_t count() const noexcept {
    return order_ ? order_->size() : entries_->entries.size();
  }

 private:
  // Sorting 100 000 entries takes 15 ms, which other requests of the worker must not wait for.
  Task<bool> make_order() {
    if (selection_.is_plain()) co_return true;
    const auto work = [this] { return select(*entries_, selection_); };
    if (entries_->entries.size() <= sorted_at_once_max) {
      order_ = work();
      co_return true;
    }
    order_ = co_await file::run_waiting(io::Engine::current(), work, file::unless_stopped);
    co_return order_.has_value();
  }

  [[nodiscard]] const FolderEntry& entry(std::size_t index) const noexcept {
    return entries_->entries[order_ ? (*order_)[index] : index];
  }

  const FolderEntriesRef entries_;
  const Selection selection_;
  std::optional<std::vector<std::uint32_t>> order_;
  std::size_t at_ = 0;
  bool begun_ = false;
  bool noted_ = false;
  std::string piece_;
  base::MemoryCharge charge_{base::MemoryOwner::listings};
};

// The form that nginx's autoindex has.
class JsonList final : public ListingSource {
 public:
  using ListingSource::ListingSource;

 private:
  void append_head(std::string& out) const override { out += "[\n"; }
  void append_entry(std::string& out, const FolderEntry& entry, std::size_t at) const override {
    if (at > 0) out += ",\n";
    out += "{\"name\":";
    append_json(out, entry.name);
    out += entry.is_folder ? ",\"type\":\"directory\"" : ",\"type\":\"file\"";
    if (entry.modified_s != FolderEntry::time_unknown) {
      out += ",\"mtime\":\"";
      append_time(out, entry.modified_s);
      out += '"';
    }
    if (!entry.is_folder) {
      out += ",\"size\":";
      append_number(out, entry.size);
    }
    out += '}';
  }
  void append_notes(std::string& out) override { out += "\n]\n"; }
  std::string_view next_of_tail(std::string&) override { return {}; }
};

class HtmlPage final : public ListingSource {
 public:
  HtmlPage(FolderEntriesRef entries, Selection selection, ListingPage page, std::string nonce)
      : ListingSource(std::move(entries), std::move(selection)),
        page_(std::move(page)),
        nonce_(std::move(nonce)) {}

 private:
  void append_head(std::string& out) const override;
  void append_entry(std::string& out, const FolderEntry& entry, std::size_t at) const override;
  void append_notes(std::string& out) override;
  std::string_view next_of_tail(std::string& out) override;

  void append_breadcrumbs(std::string& out) const;
  void append_tools(std::string& out) const;
  void append_columns(std::string& out) const;
  void append_readme(std::string& out);
  void append_end(std::string& out);

  // What of the tail is next.
  enum class State : std::uint8_t { readme, scripts, ended };

  const ListingPage page_;
  const std::string nonce_;
  std::size_t readme_at_ = 0;
  State state_ = State::readme;
};

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) segments.push_back(path.substr(0, slash));
    if (slash == path.npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

void HtmlPage::append_head(std::string& out) const {
  const std::vector<std::string_view> segments = segments_of(page_.path);
  out += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  append_html(out, shown(segments.empty() ? page_.root_name : segments.back()));
  out += "</title>\n<link rel=\"icon\" href=\"data:,\">\n";
  out.append("<style nonce=\"").append(nonce_).append("\">\n").append(listing_style);
  if (has_script(page_.uploads)) out += upload_style;
  out += "</style>\n</head>\n<body>\n<header>\n";
  append_breadcrumbs(out);
  out += "</header>\n<main";
  append_attributes(out, page_.uploads);
  out += ">\n";
  append_form(out, page_.uploads);
  if (!page_.uploads.list) return;
  append_tools(out);
  append_columns(out);
  if (segments.empty()) return;
  out += "<tr><td><a class=\"u\" href=\"../\">Parent folder</a></td><td></td><td></td></tr>\n";
}

void HtmlPage::append_breadcrumbs(std::string& out) const {
  const std::vector<std::string_view> segments = segments_of(page_.path);
  out += "<nav aria-label=\"Path\"><ol>\n";
  for (std::size_t i = 0; i <= segments.size(); ++i) {
    const std::string name = shown(i == 0 ? std::string_view(page_.root_name) : segments[i - 1]);
    if (i == segments.size()) {
      out += "<li aria-current=\"page\"><h1>";
      append_html(out, name);
      out += "</h1>";
    } else {
      out += "<li><a href=\"";
      for (std::size_t up = i; up < segments.size(); ++up) out += "../";
      out += "\">";
      append_html(out, name);
      out += "</a>";
    }
    out += "</li>\n";
  }
  out += "</ol></nav>\n";
}

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

// Buttons instead of links, so that a program that follows every link does not fetch the folder in
// every order and as archives.
void HtmlPage::append_tools(std::string& out) const {
  out += "<form class=\"tools\" id=\"tools\" role=\"search\">\n<label><span class=\"quiet\">Filter"
         "</span>\n<input type=\"search\" name=\"filter\" placeholder=\"Filter\" value=\"";
  append_html(out, base::to_valid_utf8(selection().filter));
  out += "\"></label>\n<button class=\"quiet\" tabindex=\"-1\">Filter</button>\n"
         "<p role=\"status\">";
  const FolderEntries& all = entries();
  const std::size_t files = all.entries.size() - all.folders;
  if (!selection().filter.empty()) {
    fmt::format_to(std::back_inserter(out), "{} of {} shown", count(), all.entries.size());
  } else {
    if (all.folders > 0) {
      fmt::format_to(std::back_inserter(out), "{} folder{}, ", all.folders, plural(all.folders));
    }
    fmt::format_to(std::back_inserter(out), "{} file{}, ", files, plural(files));
    append_size(out, all.bytes);
  }
  out += "</p>\n";
  if (page_.archives) {
    out += "<button class=\"button\" name=\"archive\" value=\"zip\">Download .zip</button>\n"
           "<button class=\"button\" name=\"archive\" value=\"tar\">.tar</button>\n";
  }
  out += "</form>\n";
}

void HtmlPage::append_columns(std::string& out) const {
  constexpr std::array<std::string_view, 3> titles = {"Name", "Size", "Modified"};
  out += "<table>\n<thead><tr>";
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const auto& [name, key] = sort_keys[i];
    const bool chosen = key == selection().key;
    out += "<th scope=\"col\"";
    if (chosen)
      out += selection().descending ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"";
    fmt::format_to(std::back_inserter(out),
                   "><button form=\"tools\" name=\"sort\" value=\"{}{}\">{}</button></th>",
                   chosen && !selection().descending ? "-" : "", name, titles[i]);
  }
  out += "</tr></thead>\n<tbody>\n";
}

void HtmlPage::append_entry(std::string& out, const FolderEntry& entry, std::size_t at) const {
  if (!page_.uploads.list) return;
  if (at > 0 && at % block_rows == 0) out += "</tbody>\n<tbody>\n";  // see listing.css
  const std::string_view slash = entry.is_folder ? "/" : "";
  const char icon = icon_of(entry, *page_.types);
  out.append("<tr><td><a class=\"") += icon;
  out += "\" href=\"";
  const std::size_t link = out.size();
  append_html(out, page_.link_prefix);
  append_segment(out, entry.name);
  const std::size_t link_size = out.size() - link;
  out.append(slash).append("\">");
  if (icon == 'i' && entry.size <= thumbnail_bytes_max) {
    out += "<img loading=\"lazy\" decoding=\"async\" alt=\"\" src=\"";
    out.append(out, link, link_size).append("\">");
  }
  append_html(out, shown(entry.name));
  out.append(slash).append("</a></td><td");
  if (!entry.is_folder) {
    out += " data-b=\"";
    append_number(out, entry.size);
    out += "\">";
    append_size(out, entry.size);
  } else {
    out += '>';
  }
  if (entry.modified_s == FolderEntry::time_unknown) {
    out += "</td><td><time></time></td></tr>\n";
    return;
  }
  out += "</td><td><time datetime=\"";
  const std::size_t time = out.size();
  append_time(out, entry.modified_s);  // "2026-01-31T12:00:00Z"
  out += "\">";
  out.append(out, time, 10).append(" ").append(out, time + 11, 5);
  out += "</time></td></tr>\n";
}

void HtmlPage::append_notes(std::string& out) {
  if (!page_.uploads.list) return append_end(out);
  out += "</tbody>\n</table>\n";
  if (entries().entries.empty()) {
    out += "<p class=\"empty\">Nothing here yet.</p>\n";
  } else if (count() == 0) {
    out += "<p class=\"empty\">No name contains that.</p>\n";
  }
  if (entries().incomplete) {
    fmt::format_to(std::back_inserter(out),
                   "<p class=\"note\">The folder has more entries; only {} are shown.</p>\n",
                   entries().entries.size());
  }
  if (page_.readme_name.empty()) return append_end(out);
  out += "<section class=\"readme\" aria-labelledby=\"readme\"><h2 id=\"readme\">";
  append_html(out, shown(page_.readme_name));
  out += "</h2>\n<pre>";
}

// A piece of it, which ends with a whole character.
void HtmlPage::append_readme(std::string& out) {
  constexpr std::size_t slice_bytes = 8 * 1024;  // escaped, it may have six times as many
  const std::string_view text(page_.readme->content().bytes(), page_.readme->size());
  const std::size_t wanted = std::min(readme_at_ + slice_bytes, text.size());
  std::size_t end = wanted;
  const auto continues = [&] {
    return end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
  };
  for (int i = 0; i < 3 && continues(); ++i) --end;
  if (continues()) end = wanted;  // no character is so long
  append_html(out, base::to_valid_utf8(text.substr(readme_at_, end - readme_at_)));
  readme_at_ = end;
  if (end < text.size()) return;
  out += "</pre></section>\n";
  append_end(out);
}

void HtmlPage::append_end(std::string& out) {
  state_ = State::scripts;
  out.append("</main>\n").append(listing_dialog);
  const bool uploads = has_script(page_.uploads);
  if (uploads) out += upload_parts;
  out.append("<script nonce=\"").append(nonce_).append("\">\n");
  if (page_.uploads.list) out += listing_script;
  if (!uploads) out += scripts_end;
}

std::string_view HtmlPage::next_of_tail(std::string& out) {
  if (state_ == State::readme) {
    append_readme(out);
    return out;
  }
  if (state_ == State::ended || !has_script(page_.uploads)) return {};
  state_ = State::ended;
  return upload_scripts;
}

// Uploaders choose the names of files. Should one be taken for markup, its script still can't run.
std::string security_policy(std::string_view nonce) {
  return fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src 'self' data:; "
      "media-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; "
      "base-uri 'none'; frame-ancestors 'self'",
      nonce);
}

}  // namespace

const FolderEntry* find_readme(const FolderEntries& entries) {
  const std::span files = std::span(entries.entries).subspan(entries.folders);
  // By name_before(), names in capitals come before the same in small letters.
  for (const std::string_view name : {"README.MD", "README.TXT", "README"}) {
    const auto found = std::ranges::lower_bound(files, name, name_before, &FolderEntry::name);
    if (found != files.end() && base::equals_ignoring_case(found->name, name)) return &*found;
  }
  return nullptr;
}

Response listing_response(const Request& request, FolderEntriesRef entries, ListingPage page) {
  constexpr std::array<std::string_view, 2> offers = {"text/html; charset=utf-8",
                                                      "application/json"};
  Selection selection = selection_of(request);
  const bool json = best_media_type(request, offers).value_or(0) == 1;
  std::unique_ptr<BodySource> source;
  std::string policy;
  if (json) {
    source = std::make_unique<JsonList>(std::move(entries), std::move(selection));
  } else {
    std::string nonce = fmt::format("{:016x}{:016x}", base::random_number(), base::random_number());
    policy = security_policy(nonce);
    source = std::make_unique<HtmlPage>(std::move(entries), std::move(selection), std::move(page),
                                        std::move(nonce));
  }
  Response response(std::move(source), offers[json ? 1 : 0]);
  response.add("Vary", "Accept").add("Cache-Control", "no-cache");
  response.add("X-Content-Type-Options", "nosniff");
  if (!policy.empty()) response.add("Content-Security-Policy", policy);
  return response;
}

}  // namespace h2server::content
