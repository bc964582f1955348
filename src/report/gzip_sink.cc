#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "report/byte_sink.h"

namespace eroica {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;  // the compressor is fed whole pieces, so that their cuts never show

}  // namespace

struct GzipSink::State {
  ByteSink next;
  isal_zstream stream;
  std::vector<uint8_t> level_buffer;
  std::string pending;
  std::array<uint8_t, kPieceBytes> out;
};

GzipSink::GzipSink(ByteSink next) : state_(std::make_unique<State>()) {
  state_->next = std::move(next);
  state_->level_buffer.resize(ISAL_DEF_LVL1_DEFAULT);
  isal_deflate_init(&state_->stream);
  state_->stream.gzip_flag = IGZIP_GZIP;
  state_->stream.level = 1;
  state_->stream.level_buf = state_->level_buffer.data();
  state_->stream.level_buf_size = static_cast<uint32_t>(state_->level_buffer.size());
}

GzipSink::~GzipSink() = default;

Status GzipSink::write(std::string_view bytes) {
  std::string& pending = state_->pending;
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kPieceBytes - pending.size());
    pending += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (pending.size() == kPieceBytes) {
      if (Status status = deflate(pending, false); !status.ok()) return status;
      pending.clear();
    }
  }
  return ok_status();
}

Status GzipSink::finish() { return deflate(state_->pending, true); }

Status GzipSink::deflate(std::string_view bytes, bool last) {
  isal_zstream& stream = state_->stream;
  // The library takes a pointer to mutable bytes but only reads them.
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uint32_t>(bytes.size());
  stream.end_of_stream = last ? 1 : 0;
  stream.flush = NO_FLUSH;
  do {
    stream.next_out = state_->out.data();
    stream.avail_out = static_cast<uint32_t>(state_->out.size());
    if (isal_deflate(&stream) != COMP_OK) return Error{Error::Kind::kWrite, "the gzip compressor failed"};
    const size_t made = state_->out.size() - stream.avail_out;
    if (made > 0) {
      Status status = state_->next({reinterpret_cast<const char*>(state_->out.data()), made});
      if (!status.ok()) return status;
    }
  } while (stream.avail_out == 0 || (last && stream.internal_state.state != ZSTATE_END));
  return ok_status();
}

}  // namespace eroica
