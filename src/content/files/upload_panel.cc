#include "content/files/upload_panel.h"

#include <string_view>

#include "base/text/utf8.h"
#include "content/names/markup.h"

namespace h2server::content {

namespace {

void append_attribute(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(" data-").append(name).append("=\"");
  append_html(out, base::to_valid_utf8(value));
  out += '"';
}

void append_flag(std::string& out, std::string_view name, bool set) {
  if (set) out.append(" data-").append(name);
}

void append_room(std::string& out, const UploadPanel& panel) {
  if (!panel.free_bytes) return;
  out += "<p class=\"room\" data-b=\"";
  append_number(out, *panel.free_bytes);
  out += "\">";
  append_size(out, *panel.free_bytes);
  out += " free</p>\n";
}

}  // namespace

void append_attributes(std::string& out, const UploadPanel& panel) {
  append_attribute(out, "files", panel.files);
  append_attribute(out, "folder", panel.folder);
  append_attribute(out, "upload", panel.action);
  append_attribute(out, "resumable", panel.resumable_at);
  append_flag(out, "folders", panel.folders);
  append_flag(out, "manage", panel.manage);
  append_flag(out, "overwrite", panel.overwrite);
  append_flag(out, "events", panel.events);
}

void append_form(std::string& out, const UploadPanel& panel) {
  if (panel.action.empty()) return;
  out += "<form class=\"upload\" id=\"upload\" method=\"post\" enctype=\"multipart/form-data\"";
  out += " action=\"";
  append_html(out, panel.action);
  out += "\">\n";
  if (panel.folder.empty()) {
    out += "<div class=\"plain\"><input type=\"file\" name=\"file\" multiple required "
           "aria-label=\"Files to upload\">\n<button class=\"button\">Upload</button></div>\n";
  } else {
    out += "<noscript><p>Without JavaScript, uploads are taken in the top folder.</p></noscript>\n";
  }
  append_room(out, panel);
  out += "</form>\n";
}

bool has_script(const UploadPanel& panel) noexcept {
  return !panel.action.empty() || panel.manage || panel.events;
}

}  // namespace h2server::content
