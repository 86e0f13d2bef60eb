#include "content/files/encoded_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/fd.h"
#include "content/coding/encoding_source.h"
#include "file/calls.h"
#include "h2server/negotiation.h"
#include "http/fields/media_type.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

// What may be sent in place of a file. Each is a bit of an offer.
struct Choice {
  Coding coding;
  bool sibling;
};
// Among equal qualities siblings come first: they are there, and whoever made them took the time
// for a better ratio. At the highest levels br is the smallest. Of copies see Coding.
constexpr auto choices = std::to_array<Choice>({
    {Coding::br, true},
    {Coding::zstd, true},
    {Coding::gzip, true},
    {Coding::zstd, false},
    {Coding::br, false},
    {Coding::gzip, false},
});
using Offer = unsigned;
constexpr Offer all_choices = (1U << choices.size()) - 1;

Offer sibling_bit(Coding coding) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].sibling && choices[i].coding == coding) return 1U << i;
  }
  return 0;
}

// Returns the index of the best choice of the offer, or choices.size() for the file itself.
std::size_t best_choice(const Request& request, Offer offer) {
  std::array<std::string_view, choices.size() + 1> names;
  std::array<std::size_t, choices.size() + 1> indices{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if ((offer >> i & 1U) == 0) continue;
    names[count] = coding_name(choices[i].coding);
    indices[count++] = i;
  }
  names[count] = "identity";
  indices[count++] = choices.size();
  // RFC 9110, 12.5.3: to a client that accepts nothing of these, content without a coding is sent.
  const std::optional<std::size_t> best = best_encoding(request, std::span(names).first(count));
  return best ? indices[*best] : choices.size();
}

// The choices for the Accept-Encoding that this thread saw last, since most clients send one of a
// few, and connections many requests. A hit takes 0.1 us with it and 6 us without.
class Memory {
 public:
  static constexpr std::size_t line_bytes_max = 128;

  Memory() {
    line_.reserve(line_bytes_max);
    known_.fill(unknown);
  }
  std::size_t best(const Request& request, std::string_view line, Offer offer) {
    if (line != line_) {
      line_.assign(line);
      known_.fill(unknown);
    }
    std::uint8_t& known = known_[offer];
    if (known == unknown) known = static_cast<std::uint8_t>(best_choice(request, offer));
    return known;
  }

 private:
  static constexpr std::uint8_t unknown = 0xff;
  std::string line_;
  std::array<std::uint8_t, all_choices + 1> known_{};
};

bool is_version_of(const file::Lookup& sibling, const File& file) {
  return sibling.kind == file::Lookup::Kind::file &&
         sibling.file->content().version().modified_s >= file.content().version().modified_s;
}

FileRef make_sibling(const http::MediaTypes& types, std::unique_ptr<const file::Content> content,
                     std::string_view path, std::int64_t now_s) {
  http::Representation representation{.negotiated = true};
  for (const Coding coding : codings) {
    if (!path.ends_with(coding_suffix(coding))) continue;
    path.remove_suffix(coding_suffix(coding).size());
    representation.coding = coding_name(coding);
    break;
  }
  ASSERT(!representation.coding.empty());
  auto head = std::make_unique<const http::FileHead>(content->version(), types.of(path), now_s,
                                                     representation);
  return std::make_shared<const File>(std::move(content), std::move(head));
}

std::unique_ptr<const file::Folder> open_siblings(const file::Folder& folder,
                                                  http::MediaTypesRef types) {
  base::Fd directory(::fcntl(folder.fd(), F_DUPFD_CLOEXEC, 0));
  if (!directory.valid()) throw std::system_error(errno, std::generic_category(), folder.path());
  auto make = [types = std::move(types)](std::unique_ptr<const file::Content> content,
                                         std::string_view path, std::int64_t now_s) {
    return make_sibling(*types, std::move(content), path, now_s);
  };
  const file::FolderOptions options{.make_file = std::move(make), .fresh_ms = folder.fresh_ms()};
  return std::make_unique<const file::Folder>(folder.path(), std::move(directory), options);
}

std::string& sibling_path(std::string_view path, Coding coding) {
  thread_local std::string sibling;  // keeps its memory
  return sibling.assign(path).append(coding_suffix(coding));
}

// Returns nullopt if the file has changed or can't be read. May wait for the disk.
std::optional<std::string> encode_content(const file::Content& content, Coding coding) {
  const auto size = static_cast<std::size_t>(content.size());
  if (!content.changes_with_file()) return compress({content.bytes(), size}, coding);
  std::string bytes(size, '\0');  // a mapping may shrink while it is read
  if (!content.copy(bytes, 0, true)) return std::nullopt;
  return compress(bytes, coding);
}

// Returns a file with the bytes, described as another representation of `file`.
std::unique_ptr<const File> copy_with(const File& file, Coding coding, std::string_view bytes) {
  const http::Representation representation{
      .coding = coding_name(coding), .encoded_size = bytes.size(), .negotiated = true};
  const file::FileVersion& version = file.content().version();
  file::FileVersion own = version;  // with the time, which validators need
  own.size = bytes.size();
  auto held = std::make_unique_for_overwrite<char[]>(bytes.size());
  std::ranges::copy(bytes, held.get());
  return std::make_unique<const File>(
      std::make_unique<const file::Content>(own, std::move(held)),
      std::make_unique<const http::FileHead>(version, file.content_type(), base::unix_seconds(),
                                             representation));
}

// `description` has the head of the response and no content.
Response stream_file(const Request& request, const FileRef& file, const FileRef& description,
                     Coding coding) {
  Response described = request.reply_ok_with_file(description);
  if (described.described_by() == nullptr) return described;  // 304, 412
  Response response;
  for (const http::FileField& field : description->head().fields) {
    response.add(field.name, field.value);
  }
  response.set_body(Response::Streamed{encode_file(file, coding), std::nullopt});
  return response;
}

// Ends a claim, also if making the copy throws.
class Claim {
 public:
  Claim(EncodedCopies& copies, Coding coding, CopyBudget& budget) noexcept
      : copies_(copies), coding_(coding), budget_(budget) {}
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (!ended_) settle(nullptr, 0);
  }

  void settle(std::unique_ptr<const File> copy, std::size_t bytes) {
    ended_ = true;
    budget_.give_back(taken_ - bytes);
    copies_.settle(coding_, std::move(copy), budget_, bytes);
  }
  void refuse() {
    ended_ = true;
    budget_.give_back(taken_);
    copies_.refuse(coding_);
  }
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    if (!budget_.take(bytes)) return false;
    taken_ = bytes;
    return true;
  }

 private:
  EncodedCopies& copies_;
  const Coding coding_;
  CopyBudget& budget_;
  std::size_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

// The fields of a request that matter.
struct EncodedFiles::Wanted {
  explicit Wanted(const Request& asked) : request(asked) {
    bool range = false;
    int lines = 0;
    for (const Field& field : asked.head().fields) {
      if (field.name.size() == 5 && http::equals_ignoring_case(field.name, "range")) range = true;
      if (field.name.size() != 15 || !http::equals_ignoring_case(field.name, "accept-encoding"))
        continue;
      ++lines;
      line = field.value;
    }
    remembered = lines == 1 && line.size() <= Memory::line_bytes_max;
    encoded = lines > 0 && !range && best(all_choices) != choices.size();
  }

  [[nodiscard]] std::size_t best(Offer offer) const {
    thread_local Memory memory;
    return remembered ? memory.best(request, line, offer) : best_choice(request, offer);
  }

  const Request& request;
  std::string_view line;  // of Accept-Encoding
  bool remembered = false;
  bool encoded = false;  // false: the client gets the file itself
};

namespace {

FileRef make_negotiated_file_of(std::unique_ptr<const file::Content> content, std::string_view type,
                                std::int64_t now_s) {
  const bool negotiated = is_compressible(type);
  auto head = std::make_unique<const http::FileHead>(
      content->version(), type, now_s, http::Representation{.negotiated = negotiated});
  return std::make_shared<const File>(std::move(content), std::move(head),
                                      negotiated ? std::make_unique<EncodedCopies>() : nullptr);
}

}  // namespace

FileRef make_negotiated_file(std::unique_ptr<const file::Content> content, std::string_view path,
                             std::int64_t now_s) {
  return make_negotiated_file_of(std::move(content), http::media_type(path), now_s);
}

decltype(file::FolderOptions::make_file) negotiated_file_maker(http::MediaTypesRef types) {
  return [types = std::move(types)](std::unique_ptr<const file::Content> content,
                                    std::string_view path, std::int64_t now_s) {
    return make_negotiated_file_of(std::move(content), types->of(path), now_s);
  };
}

EncodedFiles::EncodedFiles(std::shared_ptr<const file::Folder> folder,
                           const EncodedFilesOptions& options)
    : options_(options),
      budget_(options.budget != nullptr ? *options.budget : CopyBudget::of_process()),
      siblings_(options.siblings ? open_siblings(*folder, options.types) : nullptr) {}

EncodedFiles::~EncodedFiles() = default;

std::optional<Response> EncodedFiles::known(const Request& request, std::string_view path,
                                            FileRef file) const {
  if (EncodedCopies::of(*file) == nullptr) return request.reply_ok_with_file(std::move(file));
  const Wanted wanted(request);
  if (!wanted.encoded) return request.reply_ok_with_file(std::move(file));
  const std::optional<Siblings> siblings = known_siblings(wanted, path, *file);
  if (!siblings) return std::nullopt;
  Coding coding{};
  return choose(wanted, file, *siblings, coding);
}

Task<Response> EncodedFiles::find(const Request& request, std::string path, FileRef file) const {
  const Wanted wanted(request);
  if (EncodedCopies::of(*file) == nullptr || !wanted.encoded)
    co_return request.reply_ok_with_file(std::move(file));
  const Siblings siblings = co_await find_siblings(wanted, std::move(path), file);
  Coding coding{};
  std::optional<Response> response = choose(wanted, file, siblings, coding);
  if (!response) {
    co_await make_copy(file, coding);
    response = choose(wanted, file, siblings, coding);
  }
  if (!response) response = request.reply_ok_with_file(std::move(file));
  co_return *std::move(response);
}

// --- siblings -----------------------------------------------------------------------------------

std::optional<EncodedFiles::Siblings> EncodedFiles::known_siblings(const Wanted& wanted,
                                                                   std::string_view path,
                                                                   const File& file) const {
  Siblings siblings;
  if (siblings_ == nullptr) return siblings;
  for (const Coding coding : codings) {
    if (wanted.best(sibling_bit(coding)) == choices.size()) continue;
    std::optional<file::Lookup> found = siblings_->known(sibling_path(path, coding));
    if (!found) return std::nullopt;
    if (is_version_of(*found, file))
      siblings[static_cast<std::size_t>(coding)] = std::move(found->file);
  }
  return siblings;
}

Task<EncodedFiles::Siblings> EncodedFiles::find_siblings(const Wanted& wanted, std::string path,
                                                         FileRef file) const {
  Siblings siblings;
  if (siblings_ == nullptr) co_return siblings;
  for (const Coding coding : codings) {
    if (wanted.best(sibling_bit(coding)) == choices.size()) continue;
    std::optional<file::Lookup> found = siblings_->known(sibling_path(path, coding));
    if (!found) found = co_await siblings_->find(sibling_path(path, coding));
    if (is_version_of(*found, *file))
      siblings[static_cast<std::size_t>(coding)] = std::move(found->file);
  }
  co_return siblings;
}

// --- copies -------------------------------------------------------------------------------------

bool EncodedFiles::is_streamed(const File& file) const {
  return file.size() > options_.copy_bytes_max;
}

bool EncodedFiles::may_encode(const File& file, Coding coding) const {
  const std::uint64_t size = file.size();
  if (!options_.copies || size < options_.copy_bytes_min || size > options_.streamed_bytes_max)
    return false;
  if (is_streamed(file) && !has_room_to_encode()) return false;
  switch (EncodedCopies::of(file)->state(coding)) {
    case EncodedCopies::State::ready:
      return true;
    case EncodedCopies::State::refused:
      return false;
    case EncodedCopies::State::unknown:
    case EncodedCopies::State::busy:
      break;
  }
  return has_codings() && (is_streamed(file) || budget_.has_room(size));
}

std::optional<Response> EncodedFiles::choose(const Wanted& wanted, const FileRef& file,
                                             const Siblings& siblings, Coding& coding) const {
  Offer offer = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto [one, sibling] = choices[i];
    const bool there =
        sibling ? siblings[static_cast<std::size_t>(one)] != nullptr : may_encode(*file, one);
    if (there) offer |= 1U << i;
  }
  const std::size_t best = wanted.best(offer);
  if (best == choices.size()) return wanted.request.reply_ok_with_file(file);
  coding = choices[best].coding;
  if (choices[best].sibling)
    return wanted.request.reply_ok_with_file(siblings[static_cast<std::size_t>(coding)]);
  const EncodedCopies& copies = *EncodedCopies::of(*file);
  if (copies.state(coding) != EncodedCopies::State::ready) return std::nullopt;
  // The file owns the copy, so the reference to the file, of this worker's own, keeps both.
  FileRef copy(file, copies.copy(coding));
  if (is_streamed(*file)) return stream_file(wanted.request, file, copy, coding);
  return wanted.request.reply_ok_with_file(std::move(copy));
}

Task<void> EncodedFiles::make_copy(FileRef file, Coding coding) const {
  EncodedCopies& copies = *EncodedCopies::of(*file);
  if (!copies.claim(coding)) {
    co_await copies.wait(coding);
    co_return;
  }
  Claim claim(copies, coding, budget_);
  const file::Content& content = file->content();
  if (is_streamed(*file)) {
    claim.settle(copy_with(*file, coding, {}), 0);
    co_return;
  }
  const auto size = static_cast<std::size_t>(content.size());
  if (!claim.take(size)) co_return;  // more than the copy will need
  // The thread also ends the claim: others need not wait for this worker, whose handlers may block.
  const auto work = [&content, &file, &claim, coding, size] {
    const std::optional<std::string> bytes = encode_content(content, coding);
    // A copy that is not a tenth smaller is not worth the client's time.
    const bool useful = bytes && bytes->size() <= size - size / 10;
    if (!useful) claim.refuse();
    else claim.settle(copy_with(*file, coding, *bytes), bytes->size());
    return useful;
  };
  file::WaitingOptions options{.client = reinterpret_cast<std::uintptr_t>(&copies)};
  if (content.may_wait()) options = file::on_slow_file_system(content.version().device);
  options.ends_with_task = false;  // others wait for the copy, too
  co_await file::run_waiting(io::Engine::current(), work, options);
}

}  // namespace h2server::content
