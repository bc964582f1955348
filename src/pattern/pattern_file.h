#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pattern/pattern.h"
#include "pattern/wire.h"
#include "trace/byte_source.h"

namespace eroica {

// A pattern file is a sequence of records, each
//
//   8 bytes  "EROICAP1"
//   1 byte   type: 1 an encoded pattern, 2 an encoded name table
//   4 bytes  length of the payload, little-endian
//            payload (wire.h)
//   4 bytes  low half of the 64-bit XXH3 of type, length and payload, little-endian
//
// so files join with `cat`, and behind damage reading goes on at the next record.

enum class RecordType : uint8_t { kPattern = 1, kNames = 2 };

/// The longest payload of a record; longer ones are damage. Bounds what a reader holds.
inline constexpr size_t kMaxNamesBytes = size_t{32} << 20;

/// One framed record.
std::string frame_record(RecordType type, std::string_view payload);

/// How many patterns a file holds, by its frames alone and counted to `most`; 0 where it cannot be read.
size_t count_patterns(ByteSource& source, size_t most);

/// A record as it lies in its file.
struct EncodedRecord {
  RecordType type = RecordType::kPattern;
  std::string_view payload;
  uint32_t checksum = 0;  ///< tells whether two records are the same
};

/// Finds the records in bytes that are pushed in blocks of any size. Holds at most one record and one block. Damage is
/// told in problems(), with `path` and offset, and passed over.
class RecordScanner {
 public:
  explicit RecordScanner(std::string path);
  void push(std::string_view bytes);
  /// No more bytes will come.
  void finish() { finished_ = true; }
  /// The next whole record, valid until more is pushed; none: push more, or after finish() the end.
  std::optional<EncodedRecord> next_encoded();
  /// Adds what is wrong with the record that was given last.
  void report(const std::string& what) { report_at(record_offset_, what); }
  /// In words; at most a bounded number of them, the last one then says that there were more.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  enum class Step { kRecord, kSkipped, kNeedsMore };
  Step step(EncodedRecord& record);
  Step skip_to_magic();
  Step damaged(const std::string& what);
  void report_at(uint64_t offset, const std::string& what);
  void drop(size_t bytes);

  std::string path_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is unread in buffer_
  uint64_t offset_ = 0;  // of begin_ in the file
  uint64_t record_offset_ = 0;
  bool finished_ = false;
  uint64_t wasted_bytes_ = 0;
  bool given_up_ = false;
  bool searching_ = false;  // behind damage: what is passed over was reported
  std::vector<std::string> problems_;
};

/// Reads a pattern file of any size record by record.
class PatternFileReader {
 public:
  PatternFileReader(std::unique_ptr<ByteSource> source, std::string path);
  /// The next whole record, valid until the next call, none at the end. Errors: those of the source.
  Result<std::optional<EncodedRecord>> next();
  /// Adds what is wrong with the record that was given last.
  void report(const std::string& what) { scanner_.report(what); }
  [[nodiscard]] const std::vector<std::string>& problems() const { return scanner_.problems(); }

 private:
  std::unique_ptr<ByteSource> source_;
  RecordScanner scanner_;
  std::vector<char> block_;
  bool ended_ = false;
};

}  // namespace eroica
