// Whoever may reach a job's control socket, or writes into its folder, sends what he likes: it is a request, an answer
// or a note, or it is refused; what was understood is written and read alike.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/control_message.h"
#include "agent/job_note.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto request = eroica::decode_request(bytes)) {
    require(request->reason.size() <= 200);
    require(!request->window_s || (*request->window_s >= 0.1 && *request->window_s <= 600));
    const auto again = eroica::decode_request(eroica::encode_request(*request));
    require(again && again->kind == request->kind && again->window_s == request->window_s);
  }
  if (const auto answer = eroica::decode_trigger_answer(bytes)) {
    require(eroica::decode_trigger_answer(eroica::encode_answer(*answer)).has_value());
  }
  if (const auto status = eroica::decode_status(bytes)) {
    const std::string packet = eroica::encode_answer(*status);
    const auto again = eroica::decode_status(packet);
    require(packet.size() > eroica::kMostAnswerBytes || (again && again->state == status->state));
  }
  if (const auto note = eroica::decode_note(bytes)) {
    require(eroica::is_job_id(note->job));
    require(eroica::decode_note(eroica::encode_note(*note))->maker == note->maker);
  }
  return 0;
}
