#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "steps/step_record.h"

namespace eroica {

// Step records as bytes: a file is a row of chunks, each of which can be read without the others.
//
//   chunk:  "EROS", version (1 byte), job's length (1 byte), job, length of the records (4 bytes, little endian),
//           records, hash of the records (8 bytes, little endian; hash.h)
//   record: varints: rank; step, monotonic time, wall clock and data wait in µs as differences from the rank's record
//           before, zigzag; fetches. The wall clock as what it differs by from how far the monotonic one came.
// Times are kept to the microsecond. About 9 bytes a record.

/// Appends records to chunks and forgets the oldest chunks, so that no more than `most_bytes` are kept.
class RecordLog {
 public:
  explicit RecordLog(std::string_view job, size_t most_bytes = size_t{64} << 20);

  void append(const StepRecord& record);
  /// All that is kept, the chunk that is still open included.
  [[nodiscard]] std::string bytes() const;
  /// How many bytes that is.
  [[nodiscard]] size_t size() const { return closed_bytes_ + open_size(); }
  /// The chunks that were closed since the last call, to be appended to a file.
  std::string take_closed();

 private:
  void close();
  [[nodiscard]] size_t open_size() const;
  [[nodiscard]] std::string framed(const std::string& records) const;

  std::string job_;
  size_t most_bytes_;
  std::deque<std::string> closed_;  // framed
  size_t closed_bytes_ = 0;
  size_t untaken_ = 0;  // the last so many of them
  std::string open_;
  std::unordered_map<int32_t, StepRecord> last_;  // of each rank, in the open chunk
};

struct ReadRecords {
  std::string job;  ///< of the first chunk
  std::vector<StepRecord> records;
  std::vector<std::string> problems;  ///< damage, and what was left out because of it
};

/// Is this the beginning of such a file?
bool is_record_log(std::string_view head);

/// Reads at most `most` records. A chunk whose hash differs is left out; where the bytes end within a chunk, the
/// records before are kept. Error kNotATrace: not even one chunk's beginning; kUnsupported: a newer version.
Result<ReadRecords> read_record_log(std::string_view bytes, size_t most = size_t{1} << 24);

}  // namespace eroica
