// Statement: a prepared statement of SQLite, finalized with the object.
//
// Every error throws HttpError with 503, among them that a call was interrupted.
#pragma once

#include <h2server/failure.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace sqlite {

class Statement {
 public:
  Statement(sqlite3& database, const char* sql) : database_(database) {
    check(sqlite3_prepare_v2(&database, sql, -1, &statement_, nullptr) == SQLITE_OK);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  void bind(int index, std::int64_t value) {
    check(sqlite3_bind_int64(statement_, index, value) == SQLITE_OK);
  }
  // `text` must outlive the statement.
  void bind(int index, const std::string& text) {
    const int size = static_cast<int>(text.size());
    check(sqlite3_bind_text(statement_, index, text.data(), size, SQLITE_STATIC) == SQLITE_OK);
  }
  // Returns true if there is a row.
  bool step() {
    const int status = sqlite3_step(statement_);
    check(status == SQLITE_ROW || status == SQLITE_DONE);
    return status == SQLITE_ROW;
  }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  void check(bool good) {
    if (!good) throw h2server::HttpError(503, sqlite3_errmsg(&database_));
  }

  sqlite3& database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace sqlite
