#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "trace/byte_source.h"

namespace eroica {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
constexpr size_t kMagicBytes = 4;
constexpr size_t kMayBeUnwritten = ISAL_LOOK_AHEAD;

bool is_gzip(std::string_view front) { return front.substr(0, 2) == "\x1f\x8b"; }

bool is_zstd(std::string_view front) {
  if (front.size() < kMagicBytes) return false;
  if (front.substr(0, kMagicBytes) == "\x28\xb5\x2f\xfd") return true;
  const auto first = static_cast<unsigned char>(front[0]);  // a skippable frame: 0x184D2A50 to 5F
  return (first & 0xf0U) == 0x50 && front.substr(1, 3) == "\x2a\x4d\x18";
}

/// Turns compressed bytes into plain ones; knows nothing of where they come from.
class Codec {
 public:
  virtual ~Codec() = default;
  struct Step {
    size_t taken = 0;
    size_t given = 0;
    const char* problem = nullptr;  ///< damage, in words
  };
  virtual Step step(std::string_view in, std::span<char> out) = 0;
  /// Whether the stream may end here: between members or frames.
  [[nodiscard]] virtual bool at_boundary() const = 0;
  /// At a boundary: whether what follows belongs to the stream. False: ignore the rest.
  [[nodiscard]] virtual bool continues(std::string_view in) const = 0;
};

class GzipCodec final : public Codec {
 public:
  GzipCodec() : state_(std::make_unique<inflate_state>()) { start_member(); }

  Step step(std::string_view in, std::span<char> out) override {
    if (boundary_ && !in.empty()) start_member();
    // isal_inflate does not write to its input, though its interface would let it.
    state_->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in.data()));
    state_->avail_in = static_cast<uint32_t>(std::min<size_t>(in.size(), limit()));
    state_->next_out = reinterpret_cast<uint8_t*>(out.data());
    state_->avail_out = static_cast<uint32_t>(std::min<size_t>(out.size(), limit()));
    const uint32_t in_before = state_->avail_in;
    const uint32_t out_before = state_->avail_out;
    const int status = isal_inflate(state_.get());
    Step done{in_before - state_->avail_in, out_before - state_->avail_out, nullptr};
    if (status < 0) {
      // A bad back reference is counted as given though it was not written.
      if (status != ISAL_INCORRECT_CHECKSUM) done.given -= std::min(done.given, kMayBeUnwritten);
      done.problem = status == ISAL_INCORRECT_CHECKSUM ? "a wrong checksum" : "damaged gzip data";
    } else if (status == ISAL_NEED_DICT) {
      done.problem = "gzip data that needs a dictionary";
    }
    boundary_ = state_->block_state == ISAL_BLOCK_FINISH;
    return done;
  }
  [[nodiscard]] bool at_boundary() const override { return boundary_; }
  [[nodiscard]] bool continues(std::string_view in) const override { return is_gzip(in); }

 private:
  static constexpr size_t limit() { return std::numeric_limits<int32_t>::max(); }
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    boundary_ = false;
  }

  std::unique_ptr<inflate_state> state_;
  bool boundary_ = false;
};

class ZstdCodec final : public Codec {
 public:
  ZstdCodec() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }

  Step step(std::string_view in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t status = ZSTD_decompressStream(stream_.get(), &to, &from);
    Step done{from.pos, to.pos, nullptr};
    if (ZSTD_isError(status) != 0) {
      done.problem = ZSTD_getErrorName(status);
    }
    boundary_ = status == 0;
    return done;
  }
  [[nodiscard]] bool at_boundary() const override { return boundary_; }
  [[nodiscard]] bool continues(std::string_view in) const override { return is_zstd(in); }

 private:
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
  bool boundary_ = true;
};

class Decompressor final : public DecompressedSource {
 public:
  explicit Decompressor(std::unique_ptr<ByteSource> input) : input_(std::move(input)) {}

  [[nodiscard]] const StreamEnd& end() const override { return end_; }
  [[nodiscard]] uint64_t consumed_bytes() const override { return consumed_; }

  Result<size_t> read(std::span<char> into) override {
    if (into.empty() || finished_) return size_t{0};
    if (!sniffed_) {
      if (Status sniffed = sniff(); !sniffed.ok()) return sniffed.error();
    }
    return codec_ == nullptr ? read_plain(into) : read_decoded(into);
  }

 private:
  [[nodiscard]] std::string_view pending() const { return {buffer_.data() + begin_, end_of_input_ - begin_}; }

  void take(size_t bytes) {
    begin_ += bytes;
    consumed_ += bytes;
  }

  /// Reads on until `bytes` are pending or the input has ended.
  Status refill(size_t bytes) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, pending().size());
      end_of_input_ -= begin_;
      begin_ = 0;
    }
    while (!input_ended_ && pending().size() < bytes) {
      Result<size_t> got = input_->read({buffer_.data() + end_of_input_, buffer_.size() - end_of_input_});
      if (!got.ok()) return got.error();
      input_ended_ = *got == 0;
      end_of_input_ += *got;
    }
    return ok_status();
  }

  Status sniff() {
    buffer_.resize(kInputBytes);
    Status status = refill(kMagicBytes);
    if (!status.ok()) return status;
    sniffed_ = true;
    if (is_gzip(pending())) codec_ = std::make_unique<GzipCodec>();
    if (is_zstd(pending())) codec_ = std::make_unique<ZstdCodec>();
    return ok_status();
  }

  /// Plain bytes go straight to the reader once what was looked at is handed on.
  Result<size_t> read_plain(std::span<char> into) {
    if (!pending().empty()) {
      const size_t count = std::min(into.size(), pending().size());
      std::memcpy(into.data(), pending().data(), count);
      take(count);
      return count;
    }
    Result<size_t> got = input_->read(into);
    if (got.ok()) consumed_ += *got;
    return got;
  }

  Result<size_t> read_decoded(std::span<char> into) {
    while (true) {
      if (pending().size() < kMagicBytes && !input_ended_) {
        if (Status status = refill(kMagicBytes); !status.ok()) return status.error();
      }
      if (codec_->at_boundary() && !codec_->continues(pending())) {
        finished_ = true;
        return size_t{0};
      }
      const Codec::Step step = codec_->step(pending(), into);
      take(step.taken);
      if (step.problem != nullptr) {
        finished_ = true;
        end_.damaged = true;
        end_.what = fmt::format("{} at compressed byte {}", step.problem, consumed_);
        return step.given;
      }
      if (step.given > 0) return step.given;
      if (step.taken == 0 && !codec_->at_boundary()) {
        if (input_ended_) {
          finished_ = true;
          end_.truncated = true;
          end_.what = fmt::format("the compressed data ends too early, at byte {}", consumed_);
          return size_t{0};
        }
        if (pending().size() == buffer_.size()) {
          finished_ = true;
          end_.damaged = true;
          end_.what = fmt::format("no progress at compressed byte {}", consumed_);
          return size_t{0};
        }
        // A codec that neither takes nor gives wants more than is pending.
        if (Status status = refill(pending().size() + 1); !status.ok()) return status.error();
      }
    }
  }

  std::unique_ptr<ByteSource> input_;
  std::unique_ptr<Codec> codec_;  // none: plain
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_of_input_ = 0;
  uint64_t consumed_ = 0;
  bool sniffed_ = false;
  bool input_ended_ = false;
  bool finished_ = false;
  StreamEnd end_;
};

}  // namespace

std::unique_ptr<DecompressedSource> decompress(std::unique_ptr<ByteSource> input) {
  return std::make_unique<Decompressor>(std::move(input));
}

}  // namespace eroica
