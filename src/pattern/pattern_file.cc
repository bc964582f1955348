#include "pattern/pattern_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/hash.h"

namespace eroica {
namespace {

constexpr std::string_view kMagic = "EROICAP1";
constexpr size_t kNumberBytes = 4;
constexpr size_t kHeaderBytes = kMagic.size() + 1 + kNumberBytes;
constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr size_t kMostProblems = 100;
/// How much may be read for records that turn out damaged. Made-up headers could else let every byte be read for every
/// other one.
constexpr uint64_t kMostWastedBytes = uint64_t{1} << 30;

void append_number(std::string& bytes, uint32_t number) {
  for (size_t i = 0; i < kNumberBytes; ++i) {
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  }
}

uint32_t read_number(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) {
    number |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

/// Records of a type that is not known yet may be as long as the longest that is.
size_t longest_payload(uint8_t type) {
  return type == static_cast<uint8_t>(RecordType::kPattern) ? kMaxPatternBytes : kMaxNamesBytes;
}

}  // namespace

static uint32_t checksum(std::string_view bytes) { return static_cast<uint32_t>(hash_bytes(bytes)); }

std::string frame_record(RecordType type, std::string_view payload) {
  std::string record(kMagic);
  record.reserve(kHeaderBytes + payload.size() + kNumberBytes);
  record += static_cast<char>(type);
  append_number(record, static_cast<uint32_t>(payload.size()));
  record += payload;
  append_number(record, checksum(std::string_view(record).substr(kMagic.size())));
  return record;
}

size_t count_patterns(ByteSource& source, size_t most) {
  std::vector<char> block(kBlockBytes);
  size_t patterns = 0;
  size_t skip = 0;  // bytes of the record that is passed over
  std::string head;
  while (patterns < most) {
    const Result<size_t> read = source.read(block);
    if (!read.ok() || *read == 0) {
      break;
    }
    std::string_view left(block.data(), *read);
    while (!left.empty() && patterns < most) {
      const size_t passed = std::min(skip, left.size());
      left.remove_prefix(passed);
      skip -= passed;
      const size_t taken = std::min(kHeaderBytes - head.size(), left.size());
      head += left.substr(0, taken);
      left.remove_prefix(taken);
      if (head.size() < kHeaderBytes) {
        continue;
      }
      if (!std::string_view(head).starts_with(kMagic)) {
        return patterns;
      }
      const auto type = static_cast<uint8_t>(head[kMagic.size()]);
      patterns += type == static_cast<uint8_t>(RecordType::kPattern) ? 1 : 0;
      skip = read_number(std::string_view(head).substr(kMagic.size() + 1)) + kNumberBytes;
      head.clear();
    }
  }
  return patterns;
}

RecordScanner::RecordScanner(std::string path) : path_(std::move(path)) {}

void RecordScanner::push(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<EncodedRecord> RecordScanner::next_encoded() {
  EncodedRecord record;
  Step taken = Step::kSkipped;
  while (taken == Step::kSkipped) {
    taken = step(record);
  }
  return taken == Step::kRecord ? std::optional(record) : std::nullopt;
}

RecordScanner::Step RecordScanner::step(EncodedRecord& record) {
  const std::string_view left = std::string_view(buffer_).substr(begin_);
  if (left.empty()) {
    return Step::kNeedsMore;
  }
  if (wasted_bytes_ > kMostWastedBytes) {
    if (!std::exchange(given_up_, true)) {
      report_at(offset_, "too much of the file is damaged; the rest of it was passed over");
    }
    drop(left.size());
    return Step::kNeedsMore;
  }
  if (!left.starts_with(kMagic.substr(0, left.size()))) {
    return skip_to_magic();
  }
  if (left.size() < kHeaderBytes) {
    return finished_ ? damaged("the file ends within a record") : Step::kNeedsMore;
  }
  const auto type = static_cast<uint8_t>(left[kMagic.size()]);
  const size_t length = read_number(left.substr(kMagic.size() + 1));
  if (length > longest_payload(type)) {
    return damaged("a record is longer than any can be");
  }
  const size_t end = kHeaderBytes + length + kNumberBytes;
  if (left.size() < end) {
    return finished_ ? damaged("the file ends within a record") : Step::kNeedsMore;
  }
  const std::string_view checked = left.substr(kMagic.size(), end - kMagic.size() - kNumberBytes);
  record = {static_cast<RecordType>(type), left.substr(kHeaderBytes, length),
            read_number(left.substr(end - kNumberBytes))};
  if (checksum(checked) != record.checksum) {
    wasted_bytes_ += length;
    return damaged("the checksum of a record is wrong");
  }
  searching_ = false;
  record_offset_ = offset_;
  drop(end);
  if (record.type == RecordType::kPattern || record.type == RecordType::kNames) {
    return Step::kRecord;
  }
  report(fmt::format("a record of unknown type {}, perhaps of a newer eroica, was passed over",
                     static_cast<unsigned>(type)));
  return Step::kSkipped;
}

RecordScanner::Step RecordScanner::damaged(const std::string& what) {
  if (!std::exchange(searching_, true)) {
    report_at(offset_, what);
  }
  drop(1);  // its length is not to be trusted: the next record may begin right behind this magic
  return Step::kSkipped;
}

RecordScanner::Step RecordScanner::skip_to_magic() {
  if (!std::exchange(searching_, true)) {
    report_at(offset_, "bytes that belong to no record were passed over");
  }
  const std::string_view left = std::string_view(buffer_).substr(begin_);
  size_t at = left.find(kMagic);
  if (at == std::string_view::npos) {
    // The magic may begin in what is here and end in what is to come.
    size_t begun = finished_ ? 0 : std::min(kMagic.size() - 1, left.size());
    while (begun > 0 && !kMagic.starts_with(left.substr(left.size() - begun))) {
      --begun;
    }
    at = left.size() - begun;
  }
  drop(at);
  return Step::kSkipped;
}

void RecordScanner::drop(size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

void RecordScanner::report_at(uint64_t offset, const std::string& what) {
  if (problems_.size() < kMostProblems) {
    problems_.push_back(fmt::format("{}: at byte {}: {}", path_, offset, what));
  } else if (problems_.size() == kMostProblems) {
    problems_.push_back(fmt::format("{}: there are more problems", path_));
  }
}

PatternFileReader::PatternFileReader(std::unique_ptr<ByteSource> source, std::string path)
    : source_(std::move(source)), scanner_(std::move(path)), block_(kBlockBytes) {}

Result<std::optional<EncodedRecord>> PatternFileReader::next() {
  while (true) {
    const std::optional<EncodedRecord> record = scanner_.next_encoded();
    if (record || ended_) {
      return record;
    }
    const Result<size_t> read = source_->read(block_);
    if (!read.ok()) {
      return read.error();
    }
    if (*read == 0) {
      ended_ = true;
      scanner_.finish();
    } else {
      scanner_.push({block_.data(), *read});
    }
  }
}

std::string pattern_file(std::span<const std::string> encoded_patterns, std::span<const std::string> encoded_names) {
  std::string file;
  for (const std::string& names : encoded_names) {
    file += frame_record(RecordType::kNames, names);
  }
  for (const std::string& pattern : encoded_patterns) {
    file += frame_record(RecordType::kPattern, pattern);
  }
  return file;
}

bool is_pattern_file(std::string_view head) { return head.starts_with(kMagic); }

Result<PatternFile> read_pattern_file(std::string_view bytes, const std::string& path) {
  if (!is_pattern_file(bytes)) {
    return Error{Error::Kind::kNotATrace,
                 fmt::format("{}: not a pattern file (it does not begin with {})", path, kMagic)};
  }
  RecordScanner scanner(path);
  scanner.push(bytes);
  scanner.finish();
  PatternFile file;
  PatternDecoder decoder;
  size_t records = 0;
  size_t conflicts = 0;
  while (const std::optional<EncodedRecord> record = scanner.next_encoded()) {
    if (record->type == RecordType::kPattern) {
      Result<RankPattern> pattern = decoder.decode(record->payload);
      if (!pattern) {
        scanner.report(pattern.error().message);
        continue;
      }
      file.patterns.push_back(std::move(*pattern));
    } else {
      const Result<NameTable> names = decode_names(record->payload);
      if (!names) {
        scanner.report(names.error().message);
        continue;
      }
      conflicts += merge_names(file.names, *names);
    }
    ++records;
  }
  file.problems = scanner.problems();
  if (conflicts > 0) {
    file.problems.push_back(fmt::format(
        "{}: {} names have the hash of another; the first in alphabetical order is shown", path, conflicts));
  }
  if (records == 0) {
    return Error{Error::Kind::kNotATrace, file.problems.empty() ? path + ": empty" : file.problems.front()};
  }
  return file;
}

}  // namespace eroica
