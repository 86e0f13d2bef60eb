// Store: named objects that are read whole or by a range and written whole, such as those of an
// object store (S3).
//
// The calls belong to the task that awaits them: each ends with Kind::stopped when the task's token
// stops, and with Kind::late after `time_max`, which bounds the wait for the beginning of the
// answer, and for all of a call that writes. A call that fails may still have been carried out,
// unless its error is of the kinds absent, precondition and denied. All workers call one store
// concurrently. It must outlive what it has returned.
//
// A key is UTF-8, at most 1024 bytes, and segments divided by "/": none is empty, "." or "..".
// Others have no object (Kind::absent).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h2server/body.h"
#include "h2server/files.h"
#include "h2server/handler.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

struct ObjectInfo {
  std::uint64_t size = 0;         // bytes of the whole object
  std::string etag = {};          // strong, with its quotes; empty: the store has none
  std::int64_t modified_s = 0;    // since 1970; 0: unknown
  std::string content_type = {};  // empty: the store does not know
  // What is stored with the object: Content-Encoding, Content-Language, Content-Disposition,
  // Cache-Control, Expires.
  std::vector<Response::Line> fields = {};
};

struct StoreError {
  enum class Kind : std::uint8_t {
    absent,
    not_modified,   // `if_none_match` names the object's version
    precondition,   // `if_match` does not; or the key of a new object is taken
    unsatisfiable,  // the range lies behind the end
    denied,         // by the store: the operator's fault, not the client's
    busy,           // the store, or too much is under way: try later
    late,           // no answer in time
    stopped,        // the caller's token
    failed,         // anything else
  };
  Kind kind = Kind::failed;
  std::chrono::milliseconds retry_after{0};  // of `busy`: when to try again; 0: unknown
  bool lasting = false;                      // of `failed`: the same call would fail again
  ObjectInfo info = {};     // of not_modified and unsatisfiable, as far as it is known
  std::string reason = {};  // for the log; has no secrets
};

template <class T>
using StoreResult = Result<T, StoreError>;

// At most one strong entity tag each, with its quotes; empty: no condition.
struct StoreConditions {
  std::string if_match = {};
  std::string if_none_match = {};
};

struct GetOptions {
  StoreConditions conditions = {};
  // One range as in a Range field: "bytes=0-9", "bytes=5-" or "bytes=-5"; empty: the whole object.
  std::string range = {};
  // The object was there a moment ago. A store of several nodes that does not find it looks again.
  bool expected = false;
  std::chrono::milliseconds time_max{10'000};
};

struct OpenedObject {
  ObjectInfo info = {};
  // The part of the object that the body has. A store may ignore the range.
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // bytes
  // Fails rather than to end early. Its destruction cancels the transfer. Not null.
  std::unique_ptr<BodySource> body = {};
};

struct ListOptions {
  std::string prefix = {};  // empty, or keys that end in "/"
  std::string after = {};   // `next` of the page before; empty: from the beginning
  std::size_t entries_max = 1000;
  std::chrono::milliseconds time_max{10'000};
};

struct ListedObject {
  std::string name;  // the key without the prefix
  std::uint64_t size = 0;
  std::int64_t modified_s = 0;
};

// What lies directly below a prefix, by name.
struct ListPage {
  std::vector<ListedObject> objects = {};
  std::vector<std::string> folders = {};  // without the prefix and the "/" at the end
  std::string next = {};                  // for ListOptions::after; empty: this is the last page
};

// How an object is written.
struct PutOptions {
  std::string content_type = {};  // empty: the store's own
  // At most one of the two. Not both of two concurrent calls succeed.
  bool must_be_new = false;   // Kind::precondition if the key has an object
  std::string if_match = {};  // one strong tag: Kind::precondition or absent if the object has not
  std::chrono::milliseconds time_max{30'000};
};

// Parts of an object to be, which no other call shows. They outlive this process.
struct PartsId {
  std::string key;
  std::string id;  // the store's
};

struct StoredPart {
  unsigned number = 0;          // from 1 to 10,000
  std::uint64_t size = 0;       // bytes
  std::string etag = {};        // the part's, with its quotes
  std::string checksum = {};    // the store's, for complete_parts(); may be empty
  std::int64_t modified_s = 0;  // of list_parts(): since 1970; 0: unknown
};

struct PartLimits {
  // All parts but the last have at least this size.
  static constexpr std::uint64_t bytes_min = 5 * 1024 * 1024;
  static constexpr unsigned number_max = 10'000;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) = 0;
  // As get(), without the body.
  virtual Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) = 0;
  virtual Task<StoreResult<ListPage>> list(ListOptions options) = 0;

  // Those that write. A store that is only read need not override them: they are denied then.

  // The object appears whole or not at all, in place of an earlier one.
  virtual Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes, PutOptions options);
  // Of an absent object, too.
  virtual Task<StoreResult<void>> remove(std::string key);
  // For large objects: parts, also several at once, then complete_parts() or abandon_parts(). Once
  // either has succeeded, the id is absent; but the same call may succeed again.
  virtual Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions options);
  // A part that is sent again replaces the earlier one.
  virtual Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number, std::string bytes);
  // All parts, by number.
  virtual Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts);
  // Makes the object of these parts, by number. Parts that are not there: Kind::failed, or busy if
  // the store may find them later. The conditions are those of `options`; when they fail, the parts
  // stay. Returns what is known of it without another call: the size and the tag.
  virtual Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                                       PutOptions options);
  // Returns the object that complete_parts() has made of these parts; Kind::absent if the key has
  // none, or another one. A store that does not override it can't tell, so it is absent.
  virtual Task<StoreResult<ObjectInfo>> find_completed(PartsId parts);
  virtual Task<StoreResult<void>> abandon_parts(PartsId parts);
};

// A store in a directory, also for several processes: the files in it are the objects, without what
// an object store has beside their bytes. What is written is on the disk when the call returns. The
// calls wait for the disk on threads of the server, however long. Unlike an object store it can't
// have one key that is another one with "/" and more behind it, nor a segment of more than 255
// bytes. Parts are in its folder ".h2server_store", which no key names. Blocks. Throws
// std::system_error if the directory can't be opened or written to.
std::shared_ptr<Store> local_store(const std::string& directory);

// Serves the objects of a store as Files serves a directory, for a pattern with the rest parameter
// "path". Objects of at most 1 MiB are kept in the process's file cache. Of the options, `fresh`,
// `index`, `listing`, `hidden`, `fallback` and `types` are read. `fresh` is how long an object, or
// that there is none, is used without a question to the store. `types` are for objects whose store
// knows none. Throws std::invalid_argument for an extension or a media type that is none.
Handler store_files(std::shared_ptr<Store> store, const FilesOptions& options = {});

}  // namespace h2server
#pragma GCC visibility pop
