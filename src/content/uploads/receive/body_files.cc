#include "content/uploads/receive/body_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"

namespace h2server::content {

BodyFiles::BodyFiles(const UploadIntent& intent) : intent_(intent) {
  if (intent.is_form()) form_.emplace(intent.boundary);
}

std::optional<std::uint64_t> BodyFiles::size() const noexcept {
  return intent_.is_form() ? std::nullopt : intent_.body_bytes;
}

void BodyFiles::feed(std::string_view bytes) {
  if (!form_) {
    fed_ = bytes;
    return;
  }
  rest_ += bytes.size();
  form_->feed(bytes);
}

BodyFiles::Event BodyFiles::next() { return form_ ? next_of_form() : next_of_file(); }

BodyFiles::Event BodyFiles::next_of_file() {
  if (paths_.empty()) {
    paths_.push_back(intent_.path);
    const std::uint64_t limit = intent_.options.file_bytes_max;
    if (limit != 0 && intent_.body_bytes.value_or(0) > limit) return refuse_size();
    return Event::begin;
  }
  if (fed_.empty()) return Event::need_more;
  return count_data(std::exchange(fed_, {}));
}

BodyFiles::Event BodyFiles::next_of_form() {
  for (;;) {
    switch (form_->next()) {
      case MultipartParser::Event::need_more: {
        // Heads of parts, and what is thrown away: a preamble, other fields, what follows the end
        // (RFC 2046, 5.1.1). They may be as many as those of a file.
        const std::uint64_t limit = intent_.options.file_bytes_max;
        const std::uint64_t most = std::max(limit, UploadLimits::form_rest_min);
        if (limit == 0 || rest_ <= most) return Event::need_more;
        return refuse(413, fmt::format("the form has more than {} bytes beside its files", most));
      }
      case MultipartParser::Event::part_begin:
        if (const std::optional<Event> event = begin_part()) return *event;
        break;
      case MultipartParser::Event::data:
        if (!in_file_) break;  // other fields of a form are ignored
        rest_ -= form_->data().size();
        return count_data(form_->data());
      case MultipartParser::Event::part_end:
        if (std::exchange(in_file_, false)) return Event::end;
        break;
      case MultipartParser::Event::finished:
        break;
      case MultipartParser::Event::malformed:
        return refuse(400, fmt::format("malformed multipart/form-data: {}", form_->problem()));
    }
  }
}

// Returns nullopt for a part that is no file.
std::optional<BodyFiles::Event> BodyFiles::begin_part() {
  const PartHead& part = form_->part();
  // An empty name: the form was sent without a file.
  if (!part.file_name || part.file_name->empty()) return std::nullopt;
  std::optional<std::string> path = safe_upload_path(*part.file_name, intent_.options.folders);
  if (!path) return refuse(400, "not a file name that can be stored");
  if (paths_.size() == UploadLimits::files_max) return refuse(413, "too many files");
  if (std::ranges::find(paths_, *path) != paths_.end()) {
    return refuse(409, fmt::format("{} is sent twice", *path));
  }
  paths_.push_back(*std::move(path));
  file_bytes_ = 0;
  in_file_ = true;
  return Event::begin;
}

BodyFiles::Event BodyFiles::count_data(std::string_view data) {
  const std::uint64_t limit = intent_.options.file_bytes_max;
  if (limit != 0 && data.size() > limit - file_bytes_) return refuse_size();
  file_bytes_ += data.size();
  data_ = data;
  return Event::data;
}

BodyFiles::Event BodyFiles::refuse(int status, std::string_view text) {
  refusal_ = refuse_upload(status, text);
  return Event::refused;
}

BodyFiles::Event BodyFiles::refuse_size() {
  return refuse(413, fmt::format("{} is larger than a file may be: {} bytes", path(),
                                 intent_.options.file_bytes_max));
}

Result<void, Response> BodyFiles::check_complete() const {
  if (form_ && !form_->finished()) return refused(400, "the body ends before its closing boundary");
  if (paths_.empty()) return refused(400, "the form holds no file");
  return {};
}

}  // namespace h2server::content
