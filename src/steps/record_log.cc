#include "steps/record_log.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/hash.h"

namespace eroica {
namespace {

constexpr std::string_view kMagic = "EROS";
constexpr char kVersion = 1;
constexpr size_t kChunkBytes = size_t{64} << 10;
constexpr size_t kMostChunkBytes = size_t{1} << 20;  ///< that a reader takes
constexpr size_t kMostProblems = 20;

void put_varint(std::string& bytes, uint64_t value) {
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

void put_fixed(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
}

/// Takes values off the front; once one is missing or malformed, all are.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  [[nodiscard]] std::string_view rest() const { return bytes_; }

  uint64_t fixed(size_t size) {
    const std::string_view part = take(size);
    uint64_t value = 0;
    for (size_t i = 0; i < part.size(); ++i) value |= uint64_t{static_cast<unsigned char>(part[i])} << (8 * i);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < 10; ++i) {
      const uint64_t byte = fixed(1);
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view take(size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

/// Sums of what damaged input says wrap around instead of overflowing.
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t to_ns(int64_t us) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000;
  return std::clamp(us, -kMost, kMost) * 1000;
}

/// Times in µs, as they are written.
StepRecord in_us(StepRecord record) {
  record.monotonic_ns /= 1000;
  record.unix_ns /= 1000;
  record.data_wait_ns /= 1000;
  return record;
}

void put_record(std::string& bytes, const StepRecord& now, const StepRecord& before) {
  const int64_t elapsed = minus(now.monotonic_ns, before.monotonic_ns);
  put_varint(bytes, static_cast<uint32_t>(now.rank));
  put_varint(bytes, zigzag(minus(now.step, before.step)));
  put_varint(bytes, zigzag(elapsed));
  put_varint(bytes, zigzag(minus(minus(now.unix_ns, before.unix_ns), elapsed)));
  put_varint(bytes, zigzag(minus(now.data_wait_ns, before.data_wait_ns)));
  put_varint(bytes, now.fetches);
}

std::optional<StepRecord> take_record(Reader& reader, std::unordered_map<int32_t, StepRecord>& last) {
  const uint64_t rank = reader.varint();
  const int64_t step = unzigzag(reader.varint());
  const int64_t elapsed = unzigzag(reader.varint());
  const int64_t wall = unzigzag(reader.varint());
  const int64_t wait = unzigzag(reader.varint());
  const uint64_t fetches = reader.varint();
  if (!reader.ok() || rank > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) ||
      fetches > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  StepRecord& record = last[static_cast<int32_t>(rank)];
  record.rank = static_cast<int32_t>(rank);
  record.step = plus(record.step, step);
  record.monotonic_ns = plus(record.monotonic_ns, elapsed);
  record.unix_ns = plus(record.unix_ns, plus(wall, elapsed));
  record.data_wait_ns = plus(record.data_wait_ns, wait);
  record.fetches = static_cast<uint32_t>(fetches);
  StepRecord result = record;
  result.monotonic_ns = to_ns(record.monotonic_ns);
  result.unix_ns = to_ns(record.unix_ns);
  result.data_wait_ns = to_ns(record.data_wait_ns);
  return result;
}

void add_problem(ReadRecords& read, std::string problem) {
  if (read.problems.size() < kMostProblems) read.problems.push_back(std::move(problem));
}

/// Reads the records of one chunk; false where one is malformed.
bool read_chunk(std::string_view bytes, size_t most, std::vector<StepRecord>& records) {
  Reader reader(bytes);
  std::unordered_map<int32_t, StepRecord> last;
  while (!reader.at_end() && records.size() < most) {
    const std::optional<StepRecord> record = take_record(reader, last);
    if (!record) return false;
    records.push_back(*record);
  }
  return true;
}

}  // namespace

RecordLog::RecordLog(std::string_view job, size_t most_bytes)
    : job_(job.substr(0, 255)), most_bytes_(std::max(most_bytes, 2 * kChunkBytes)) {}

void RecordLog::append(const StepRecord& record) {
  if (record.rank < 0) return;
  const StepRecord now = in_us(record);
  StepRecord& before = last_[now.rank];
  put_record(open_, now, before);
  before = now;
  if (open_.size() >= kChunkBytes) close();
}

std::string RecordLog::framed(const std::string& records) const {
  std::string bytes(kMagic);
  bytes += kVersion;
  bytes += static_cast<char>(job_.size());
  bytes += job_;
  put_fixed(bytes, records.size(), 4);
  bytes += records;
  put_fixed(bytes, hash_bytes(records), 8);
  return bytes;
}

size_t RecordLog::open_size() const {
  return open_.empty() ? 0 : kMagic.size() + 2 + job_.size() + 4 + open_.size() + 8;
}

void RecordLog::close() {
  closed_.push_back(framed(open_));
  closed_bytes_ += closed_.back().size();
  ++untaken_;
  open_.clear();
  last_.clear();
  while (closed_bytes_ + kChunkBytes > most_bytes_ && closed_.size() > 1) {
    closed_bytes_ -= closed_.front().size();
    closed_.pop_front();
  }
  untaken_ = std::min(untaken_, closed_.size());
}

std::string RecordLog::bytes() const {
  std::string all;
  all.reserve(size());
  for (const std::string& chunk : closed_) all += chunk;
  if (!open_.empty()) all += framed(open_);
  return all;
}

std::string RecordLog::take_closed() {
  std::string all;
  for (size_t i = closed_.size() - untaken_; i < closed_.size(); ++i) all += closed_[i];
  untaken_ = 0;
  return all;
}

bool is_record_log(std::string_view head) { return head.starts_with(kMagic); }

Result<ReadRecords> read_record_log(std::string_view bytes, size_t most) {
  if (!is_record_log(bytes)) return Error{Error::Kind::kNotATrace, "not a file of step records"};
  if (bytes.size() > kMagic.size() && bytes[kMagic.size()] > kVersion) {
    return Error{Error::Kind::kUnsupported, "step records of a newer version of eroica"};
  }
  ReadRecords read;
  Reader reader(bytes);
  for (size_t chunk = 0; !reader.at_end(); ++chunk) {
    if (read.records.size() >= most) {
      add_problem(read, "more records than are read; the rest is left out");
      break;
    }
    const bool known = reader.take(kMagic.size()) == kMagic && reader.fixed(1) == static_cast<uint64_t>(kVersion);
    const std::string_view job = reader.take(known ? reader.fixed(1) : 0);
    const uint64_t length = known ? reader.fixed(4) : 0;
    if (!known || !reader.ok() || length > kMostChunkBytes) {
      add_problem(read, "chunk " + std::to_string(chunk + 1) + " does not begin as one; what follows is left out");
      break;
    }
    if (chunk == 0) read.job = job;
    const bool whole = length + 8 <= reader.rest().size();
    const std::string_view records = reader.take(std::min<size_t>(length, reader.rest().size()));
    const size_t before = read.records.size();
    if (!whole) {
      (void)read_chunk(records, most, read.records);
      add_problem(read, "the last chunk is cut off; what it holds is kept");
      break;
    }
    if (reader.fixed(8) != hash_bytes(records)) {
      add_problem(read, "chunk " + std::to_string(chunk + 1) + " is damaged and left out");
    } else if (!read_chunk(records, most, read.records)) {
      read.records.resize(before);
      add_problem(read, "chunk " + std::to_string(chunk + 1) + " is malformed and left out");
    }
  }
  return read;
}

}  // namespace eroica
