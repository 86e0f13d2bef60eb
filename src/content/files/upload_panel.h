// The part of a listing page that takes uploads: a form, which works without a script, and what the
// page's script reads of what the server allows. Pure text, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace h2server::content {

struct UploadPanel {
  std::string action = {};  // takes POST of multipart/form-data; empty: no uploads
  std::string files = {};   // the path below which files lie, such as "/files/"
  // The page's folder below `files`, not encoded: empty or ending in a slash. The plain form stores
  // in the top folder, so that pages of other folders take uploads by their script only.
  std::string folder = {};
  std::string resumable_at = {};  // takes POST of resumable uploads (tus 1.0.0); empty: none
  bool folders = false;           // names may be paths; MKCOL makes a folder
  bool manage = false;            // DELETE and MOVE
  bool overwrite = false;         // an upload replaces the file of its name
  bool events = false;            // "?events" of the page's own path streams its changes
  bool list = true;               // false: a drop box, whose page shows no entries
  std::optional<std::uint64_t> free_bytes = {};  // room for uploads; unset: not shown
};

// Appends the attributes of the page's <main>, each with a space in front.
void append_attributes(std::string& out, const UploadPanel& panel);
// Appends the form.
void append_form(std::string& out, const UploadPanel& panel);
// Returns true if the page needs upload.js and manage.js.
bool has_script(const UploadPanel& panel) noexcept;

}  // namespace h2server::content
