#include "content/webdav/webdav_properties.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "content/names/markup.h"
#include "content/webdav/webdav_answers.h"
#include "content/webdav/webdav_dead_properties.h"
#include "http/fields/date.h"

namespace h2server::content {

namespace {

// What a live property is made of.
struct Subject {
  const PropertyContext& context;
  const DescribedFile& file;
};

// --- live properties --------------------------------------------------------------------------

void append_creationdate(std::string& out, const Subject& subject) {
  append_time(out, subject.file.state.created_s);
}

void append_displayname(std::string& out, const Subject& subject) {
  const std::string& path = subject.file.path.empty() ? subject.context.base : subject.file.path;
  append_xml(out, split_path(path).name);
}

void append_contentlength(std::string& out, const Subject& subject) {
  append_number(out, subject.file.state.version.size);
}

void append_contenttype(std::string& out, const Subject& subject) {
  append_xml(out, subject.file.state.is_folder ? "httpd/unix-directory"
                                               : subject.context.types->of(subject.file.path));
}

void append_etag(std::string& out, const Subject& subject) {
  append_xml(out, entity_tag(subject.file.state.version));
}

void append_lastmodified(std::string& out, const Subject& subject) {
  std::array<char, http::date_size> date;
  http::format_date(subject.file.state.version.modified_s, date);
  out.append(date.data(), date.size());
}

void append_resourcetype(std::string& out, const Subject& subject) {
  if (subject.file.state.is_folder) out += "<D:collection/>";
}

void append_supportedlock(std::string& out, const Subject&) {
  for (const std::string_view scope : {"exclusive", "shared"}) {
    out.append("<D:lockentry><D:lockscope><D:").append(scope);
    out += "/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>";
  }
}

void append_active_lock(std::string& out, std::string_view base, const Lock& lock,
                        std::int64_t now_ms) {
  out += "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>";
  out += lock.shared ? "<D:shared/>" : "<D:exclusive/>";
  out += "</D:lockscope><D:depth>";
  out += lock.deep ? "infinity" : "0";
  out += "</D:depth>";
  if (!lock.owner.empty()) out.append("<D:owner>").append(lock.owner).append("</D:owner>");
  out += "<D:timeout>Second-";
  append_number(out,
                static_cast<std::uint64_t>(std::max<std::int64_t>(lock.end_ms - now_ms, 0)) / 1000);
  out.append("</D:timeout><D:locktoken><D:href>").append(lock.token);
  out += "</D:href></D:locktoken><D:lockroot>";
  append_href(out, base, lock.path, false);
  out += "</D:lockroot></D:activelock>";
}

void append_active_locks(std::string& out, const Subject& subject) {
  const std::int64_t now_ms = base::monotonic_ms();
  for (const Lock& lock : subject.context.locks.covering(subject.file.path, now_ms)) {
    append_active_lock(out, subject.context.base, lock, now_ms);
  }
}

// RFC 4331: of the file system.
void append_quota_available(std::string& out, const Subject& subject) {
  struct statvfs found{};
  if (::fstatvfs(subject.context.root, &found) != 0) return;
  append_number(out, std::uint64_t{found.f_bavail} * found.f_frsize);
}

void append_quota_used(std::string& out, const Subject& subject) {
  struct statvfs found{};
  if (::fstatvfs(subject.context.root, &found) != 0) return;
  append_number(out, std::uint64_t{found.f_blocks - found.f_bfree} * found.f_frsize);
}

struct LiveProperty {
  std::string_view name;
  enum class Of : std::uint8_t { all, files, folders } of;
  bool in_all;  // sent where all properties are asked for; the others need more work (RFC 4331, 3)
  void (*append)(std::string& out, const Subject& subject);
};

using Of = LiveProperty::Of;
constexpr std::array live_properties = std::to_array<LiveProperty>({
    {"creationdate", Of::all, true, &append_creationdate},
    {"displayname", Of::all, true, &append_displayname},
    {"getcontentlength", Of::files, true, &append_contentlength},
    {"getcontenttype", Of::all, true, &append_contenttype},
    {"getetag", Of::files, true, &append_etag},
    {"getlastmodified", Of::all, true, &append_lastmodified},
    {"lockdiscovery", Of::all, true, &append_active_locks},
    {"resourcetype", Of::all, true, &append_resourcetype},
    {"supportedlock", Of::all, true, &append_supportedlock},
    {"quota-available-bytes", Of::folders, false, &append_quota_available},
    {"quota-used-bytes", Of::folders, false, &append_quota_used},
});

const LiveProperty* find_live(const XmlName& name) noexcept {
  if (name.space != dav_namespace) return nullptr;
  const auto* const found = std::ranges::find(live_properties, name.local, &LiveProperty::name);
  return found != live_properties.end() ? found : nullptr;
}

bool has(const DescribedFile& file, const LiveProperty& property) noexcept {
  return property.of == Of::all || (property.of == Of::folders) == file.state.is_folder;
}

void append_live(std::string& out, const Subject& subject, const LiveProperty& property) {
  std::string value;
  property.append(value, subject);
  if (value.empty()) {
    out.append("<D:").append(property.name).append("/>");
    return;
  }
  out.append("<D:").append(property.name).append(">").append(value);
  out.append("</D:").append(property.name).append(">");
}

// --- responses --------------------------------------------------------------------------------

void append_propstat(std::string& out, int status, std::string_view properties) {
  out.append("<D:propstat><D:prop>").append(properties).append("</D:prop>");
  append_status(out, status);
  out += "</D:propstat>";
}

const DeadProperty* find_dead(const std::vector<DeadProperty>& dead, const XmlName& name) {
  const auto found = std::ranges::find(dead, name, &DeadProperty::name);
  return found != dead.end() ? &*found : nullptr;
}

struct Answered {
  std::string found;
  std::string missing;
};

void append_named(Answered& answered, const Subject& subject, const std::vector<DeadProperty>& dead,
                  const std::vector<XmlName>& names) {
  for (const XmlName& name : names) {
    const LiveProperty* const live = find_live(name);
    const DeadProperty* const set = live == nullptr ? find_dead(dead, name) : nullptr;
    if (live != nullptr && has(subject.file, *live)) {
      append_live(answered.found, subject, *live);
    } else if (set != nullptr) {
      answered.found += set->element;
    } else {
      append_empty_element(answered.missing, name);
    }
  }
}

// Changes the list. Returns the status of each update: 200, or 403 for what the server protects.
std::vector<int> apply(std::vector<DeadProperty>& dead,
                       const std::vector<PropertyUpdate>& updates) {
  std::vector<int> statuses;
  for (const PropertyUpdate& update : updates) {
    statuses.push_back(is_live_property(update.name) ? 403 : 200);
    if (statuses.back() != 200) continue;
    const auto at = std::ranges::find(dead, update.name, &DeadProperty::name);
    if (!update.element) {
      if (at != dead.end()) dead.erase(at);  // RFC 4918, 14.23: removing what is not there succeeds
    } else if (at != dead.end()) {
      at->element = *update.element;
    } else {
      dead.push_back({update.name, *update.element});
    }
  }
  return statuses;
}

}  // namespace

bool is_live_property(const XmlName& name) noexcept { return find_live(name) != nullptr; }

bool needs_dead_properties(const Propfind& asked) noexcept {
  return asked.kind != Propfind::Kind::some || !std::ranges::all_of(asked.names, is_live_property);
}

void append_lockdiscovery(std::string& out, std::string_view base, const std::vector<Lock>& locks,
                          std::int64_t now_ms) {
  out += "<D:lockdiscovery>";
  for (const Lock& lock : locks) append_active_lock(out, base, lock, now_ms);
  out += "</D:lockdiscovery>";
}

void append_properties(std::string& out, const PropertyContext& context, const DescribedFile& file,
                       const Propfind& asked) {
  const Subject subject{context, file};
  const std::vector<DeadProperty> dead =
      file.file >= 0 ? read_dead_properties(file.file) : std::vector<DeadProperty>();
  Answered answered;
  if (asked.kind != Propfind::Kind::some) {
    const bool names_only = asked.kind == Propfind::Kind::names;
    for (const LiveProperty& live : live_properties) {
      if (!has(file, live)) continue;
      if (names_only) {
        append_empty_element(answered.found, {std::string(dav_namespace), std::string(live.name)});
      } else if (live.in_all) {
        append_live(answered.found, subject, live);
      }
    }
    for (const DeadProperty& property : dead) {
      if (names_only) {
        append_empty_element(answered.found, property.name);
      } else {
        answered.found += property.element;
      }
    }
  }
  append_named(answered, subject, dead, asked.names);
  out += "<D:response>";
  append_href(out, context.base, file.path, file.state.is_folder);
  if (!answered.found.empty() || answered.missing.empty()) {
    append_propstat(out, 200, answered.found);
  }
  if (!answered.missing.empty()) append_propstat(out, 404, answered.missing);
  out += "</D:response>\n";
}

void change_properties(std::string& out, const PropertyContext& context, const DescribedFile& file,
                       const std::vector<PropertyUpdate>& updates) {
  std::vector<DeadProperty> dead;
  if (file.file >= 0) dead = read_dead_properties(file.file);
  std::vector<int> statuses = apply(dead, updates);
  const bool is_good = std::ranges::all_of(statuses, [](int status) { return status == 200; });
  if (is_good) {
    const Result<void, int> written =
        file.file >= 0 ? write_dead_properties(file.file, dead) : std::unexpected(EACCES);
    const int error = written ? 0 : written.error();
    // ENOTSUP, EPERM, EACCES, EROFS: nothing can be set here.
    const int status = error == ENOSPC || error == EDQUOT ? 507 : 403;
    if (!written) std::ranges::fill(statuses, status);
  } else {
    // RFC 4918, 9.2.1: the others fail because of the one that did.
    std::ranges::replace(statuses, 200, 424);
  }
  std::map<int, std::string> by_status;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    append_empty_element(by_status[statuses[i]], updates[i].name);
  }
  out += "<D:response>";
  append_href(out, context.base, file.path, file.state.is_folder);
  for (const auto& [status, properties] : by_status) append_propstat(out, status, properties);
  out += "</D:response>\n";
}

}  // namespace h2server::content
