// PUT, MKCOL, DELETE, COPY and MOVE.
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "content/storage/names_in_flight.h"
#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/access/upload_access.h"
#include "content/webdav/webdav_answers.h"
#include "content/webdav/webdav_dead_properties.h"
#include "content/webdav/webdav_methods.h"
#include "content/webdav/webdav_tree.h"
#include "http/message.h"

namespace h2server::content {

namespace {

Response created_or_replaced(const WebDav& dav, const std::string& path, bool existed) {
  if (existed) return Response(204);
  Response response(201);
  std::string location;
  append_href(location, dav.base, path, false);
  const std::size_t begin = location.find('>') + 1;
  response.add("Location", location.substr(begin, location.rfind('<') - begin));
  return response;
}

// Reserves the name, so that no upload takes it meanwhile and no other change. The error is the
// response: 409, since there is no lock that the client could know.
Result<NameReservation, Response> reserve(const WebDav& dav, const std::string& path) {
  std::optional<NameReservation> reservation = dav.directory->names().reserve(path);
  if (reservation) return *std::move(reservation);
  return std::unexpected(refuse_upload(409, path + " is being uploaded or changed already"));
}

Response answer_outcome(WebDav& dav, const std::string& target, const TreeOutcome& outcome) {
  if (!outcome.failures.empty()) return failed_response(dav.base, target, outcome.failures);
  if (outcome.replaced == TreeOutcome::Replaced::tree) dav.locks().forget(target);
  return created_or_replaced(dav, target, outcome.replaced != TreeOutcome::Replaced::nothing);
}

// What COPY and MOVE have in common: a source that exists and a target beside it.
struct Pair {
  FileState source;
  DavTarget target;
};
Result<Pair, Response> find_pair(const WebDav& dav, const DavRequest& asked) {
  Result<DavTarget, Response> target = find_target(dav, asked);
  if (!target) return std::unexpected(std::move(target.error()));
  if (asked.path.empty()) return std::unexpected(http::error_response(403));
  const Result<FileState, int> source = look_at_path(dav.root(), asked.path);
  if (!source) return std::unexpected(http::error_response(status_of_error(source.error())));
  // RFC 4918, 9.8.5 and 9.9.4. A folder can't hold itself, nor be replaced by a part of itself.
  if (is_at_or_below(target->path, asked.path) || is_at_or_below(asked.path, target->path)) {
    return std::unexpected(http::error_response(403));
  }
  return Pair{*source, *std::move(target)};
}

}  // namespace

Response answer_mkcol(const WebDavRef& dav, const DavRequest& asked) {
  if (asked.path.empty()) return http::error_response(405);
  if (!is_safe_path(asked.path)) return http::error_response(403);
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  const Change change{.path = asked.path, .membership = true};
  if (auto refused = check_locks(*dav, asked, change)) return *std::move(refused);
  const Result<void, int> made = make_folder(*dav->directory, asked.path, dav->uploads);
  return made ? Response(201) : http::error_response(made.error());
}

Response answer_delete(const WebDavRef& dav, const DavRequest& asked) {
  if (asked.path.empty()) return http::error_response(403);
  const auto depth = parse_depth(asked.head.fields.find("depth"), Depth::infinity);
  if (!depth) return http::error_response(400);
  const Result<FileState, int> state = look_at_path(dav->root(), asked.path);
  if (!state) return http::error_response(status_of_error(state.error()));
  // RFC 4918, 9.6.1.
  if (state->is_folder && depth != Depth::infinity) return http::error_response(400);
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  const Change change{.path = asked.path, .deep = true, .membership = true};
  if (auto refused = check_locks(*dav, asked, change)) return *std::move(refused);
  Result<NameReservation, Response> reserved = reserve(*dav, asked.path);
  if (!reserved) return std::move(reserved.error());
  const TreeFailures failures = remove_tree(*dav->directory, asked.path, asked.stop);
  if (!failures.empty()) return failed_response(dav->base, asked.path, failures);
  dav->locks().forget(asked.path);
  return Response(204);
}

// What is copied counts for the quota of the token like what is uploaded.
class CopyCharge {
 public:
  explicit CopyCharge(const Request& request) noexcept : request_(request) {}
  CopyCharge(const CopyCharge&) = delete;
  CopyCharge& operator=(const CopyCharge&) = delete;
  ~CopyCharge() { refund_upload(request_, charged_ - std::min(charged_, kept_)); }

  // Returns false if the quota has not so much left.
  [[nodiscard]] bool add(std::uint64_t bytes) {
    const Result<void, Response> paid = charge_upload(request_, bytes);
    if (paid) charged_ += bytes;
    return paid.has_value();
  }
  // So much was copied; the rest is refunded.
  void keep(std::uint64_t bytes) noexcept { kept_ = bytes; }

 private:
  const Request& request_;
  std::uint64_t charged_ = 0;
  std::uint64_t kept_ = 0;
};

Response answer_copy(const WebDavRef& dav, const DavRequest& asked) {
  const auto depth = parse_depth(asked.head.fields.find("depth"), Depth::infinity);
  if (!depth || depth == Depth::one) return http::error_response(400);  // RFC 4918, 9.8.3
  Result<Pair, Response> pair = find_pair(*dav, asked);
  if (!pair) return std::move(pair.error());
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  const DavTarget& target = pair->target;
  const Change change{.path = target.path, .deep = true, .membership = true};
  if (auto refused = check_locks(*dav, asked, change)) return *std::move(refused);
  Result<NameReservation, Response> reserved = reserve(*dav, target.path);
  if (!reserved) return std::move(reserved.error());
  CopyCharge copied(asked.request);
  const auto charge = [&copied](std::uint64_t bytes) { return copied.add(bytes); };
  const CopyOptions options{.shallow = depth == Depth::zero,
                            .replace = target.overwrite,
                            .uploads = dav->uploads,
                            .stop = asked.stop,
                            .charge = charge};
  const TreeOutcome outcome = copy_tree(*dav->directory, asked.path, target.path, options);
  copied.keep(outcome.bytes);
  return answer_outcome(*dav, target.path, outcome);
}

Response answer_move(const WebDavRef& dav, const DavRequest& asked) {
  const auto depth = parse_depth(asked.head.fields.find("depth"), Depth::infinity);
  if (!depth) return http::error_response(400);
  Result<Pair, Response> pair = find_pair(*dav, asked);
  if (!pair) return std::move(pair.error());
  // RFC 4918, 9.9.2: a folder moves with what is in it.
  if (pair->source.is_folder && depth != Depth::infinity) return http::error_response(400);
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  const DavTarget& target = pair->target;
  for (const std::string& path : {asked.path, target.path}) {
    const Change change{.path = path, .deep = true, .membership = true};
    if (auto refused = check_locks(*dav, asked, change)) return *std::move(refused);
  }
  Result<NameReservation, Response> source = reserve(*dav, asked.path);
  if (!source) return std::move(source.error());
  Result<NameReservation, Response> place = reserve(*dav, target.path);
  if (!place) return std::move(place.error());
  const TreeOutcome outcome = move_tree(*dav->directory, asked.path, target.path, target.overwrite,
                                        dav->uploads, asked.stop);
  if (outcome.failures.empty()) dav->locks().forget(asked.path);  // 7.5: locks do not move
  return answer_outcome(*dav, target.path, outcome);
}

Result<std::string, Response> check_put(const WebDavRef& dav, const DavRequest& asked) {
  const auto refuse = [](int status) { return std::unexpected(http::error_response(status)); };
  if (asked.path.empty() || asked.names_folder) return refuse(405);
  if (!is_safe_path(asked.path)) return refuse(403);
  // The other handler evaluates the preconditions of HTTP again, when the file is whole.
  if (auto refused = check_conditions(*dav, asked)) return std::unexpected(*std::move(refused));
  const Result<FileState, int> before = look_at_path(dav->root(), asked.path);
  if (before && before->is_folder) return refuse(405);  // RFC 4918, 9.7.2
  const Change change{.path = asked.path, .membership = !before.has_value()};
  if (auto refused = check_locks(*dav, asked, change)) return std::unexpected(*std::move(refused));
  if (before) {
    const Result<base::Fd, int> file = open_below(dav->root(), asked.path, O_RDONLY);
    return file ? read_raw_properties(file->get()) : std::string();
  }
  // RFC 4918, 9.7.1: PUT makes no folders.
  const Result<FileState, int> folder = look_at_path(dav->root(), split_path(asked.path).folder);
  if (!folder || !folder->is_folder) return refuse(409);
  return std::string();
}

std::string restore_properties(const WebDavRef& dav, const DavRequest& asked,
                               const std::string& properties) {
  const Result<base::Fd, int> file = open_below(dav->root(), asked.path, O_RDONLY);
  if (!file) return {};
  // What can't be written again is lost: the content comes first.
  (void)write_raw_properties(file->get(), properties);
  const Result<FileState, int> state = look_at(file->get(), {});
  return state ? entity_tag(state->version) : std::string();
}

}  // namespace h2server::content
