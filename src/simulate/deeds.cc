#include "simulate/deeds.h"

#include <fmt/format.h>

#include "simulate/random.h"

namespace eroica {
namespace {

void frames(RankWriter& writer, const std::vector<Frame>& names) {
  for (const Frame& name : names) writer.begin(SpanKind::kPython, name);
}
void leave(RankWriter& writer, size_t count) {
  for (size_t i = 0; i < count; ++i) writer.end();
}

/// Work with the noise that a function's time has.
double noisy_ns(const Plant& plant, const Deed& deed, int rank, int step) {
  Random random(
      plant.job.seed, "deed",
      hash_combine(static_cast<uint64_t>(rank) << 32 | static_cast<uint64_t>(step), static_cast<uint64_t>(deed.kind)));
  return deed.ms * 1e6 * random.lognormal(0.06);
}

void write_frames(RankWriter& writer, const Deed& deed, Do what, double ns) {
  frames(writer, deed.frames);
  writer.extra_ns(what, ns);
  leave(writer, deed.frames.size());
}

void compile(RankWriter& writer, const Deed& deed, double ns) {
  frames(writer, {"torch/_dynamo/eval_frame.py(659): _fn", "torch/_dynamo/convert_frame.py(1272): __call__",
                  "torch/_dynamo/convert_frame.py(624): _compile"});
  writer.extra_ns(Do::kWork, ns * 0.25);
  frames(writer, {"torch/_dynamo/output_graph.py(1446): call_user_compiler",
                  "torch/_inductor/compile_fx.py(1552): compile_fx"});
  writer.extra_ns(Do::kWork, ns * 0.25);
  frames(writer, {"torch/_inductor/codecache.py(1183): load", "torch/_inductor/async_compile.py(345): wait"});
  writer.extra_ns(Do::kIo, ns * 0.5);
  leave(writer, 7);
  (void)deed;
}

void save(RankWriter& writer, const Deed& deed, double ns) {
  frames(writer, deed.frames);
  frames(writer, {"torch/serialization.py(941): save", "torch/serialization.py(1215): _save"});
  writer.extra_ns(Do::kWork, ns * 0.15);
  writer.begin(SpanKind::kPython,
               "<built-in method write_record of torch._C.PyTorchFileWriter object at 0x7f8a1c03f2b0>");
  writer.extra_ns(Do::kIo, ns * 0.85);
  leave(writer, deed.frames.size() + 3);
}

}  // namespace

bool deed_acts(const Plant& plant, const Deed& deed, int rank, int step) {
  if (deed.only_step >= 0 && step != deed.only_step) return false;
  const int every = deed.only_step >= 0 ? 1 : std::max(1, deed.every);
  // The first step of the window counts as number 1.
  if ((step + every - 1 - every / 2) % every != 0) return false;
  if (deed.moving) {
    Random random(plant.job.seed, "moving", hash_combine(static_cast<uint64_t>(deed.kind), step));
    return static_cast<int>(random.next() % plant.job.world()) == rank;
  }
  return deed.rank < 0 || deed.rank == rank;
}

DeedWriter::DeedWriter(const Plant& plant, int rank) : plant_(plant), rank_(rank) {}

bool DeedWriter::acts(const Deed& deed, int step) const { return deed_acts(plant_, deed, rank_, step); }

template <typename Use>
void DeedWriter::each(DeedKind kind, int step, Use use) const {
  for (const Deed& deed : plant_.deeds) {
    if (deed.kind == kind && acts(deed, step)) use(deed, noisy_ns(plant_, deed, rank_, step));
  }
}

void DeedWriter::after_fetch(RankWriter& writer) const {
  const int step = writer.step();
  for (const DeedKind kind : {DeedKind::kSlowFunction, DeedKind::kSlowFrame}) {
    each(kind, step, [&](const Deed& deed, double ns) { write_frames(writer, deed, Do::kWork, ns); });
  }
  each(DeedKind::kCpuOperator, step, [&](const Deed& deed, double ns) {
    frames(writer, deed.frames);
    for (int i = 0; i < deed.count; ++i) {
      writer.begin(SpanKind::kOperator, i % 2 == 0 ? "aten::normal_" : "aten::index_put_");
      writer.extra_ns(Do::kWork, ns / deed.count);
      writer.end();
    }
    leave(writer, deed.frames.size());
  });
}

void DeedWriter::in_upload(RankWriter& writer) const {
  each(DeedKind::kPinnedChurn, writer.step(), [&](const Deed& deed, double ns) {
    for (int i = 0; i < deed.count; ++i) {
      writer.begin(SpanKind::kOperator, "aten::pin_memory");
      writer.begin(SpanKind::kOperator, "aten::_pin_memory");
      writer.work_us(4);
      writer.driver("cudaHostAlloc", ns / deed.count * 0.75 / 1e3);
      writer.driver("cudaFreeHost", ns / deed.count * 0.25 / 1e3);
      leave(writer, 2);
    }
  });
}

void DeedWriter::before_forward(RankWriter& writer) const {
  each(DeedKind::kRecompile, writer.step(), [&](const Deed& deed, double ns) { compile(writer, deed, ns); });
}

void DeedWriter::in_layer(RankWriter& writer, int layer, int layers) const {
  const int step = writer.step();
  each(DeedKind::kGarbage, step, [&](const Deed& deed, double ns) {
    if (layer == layers / 3) writer.extra_ns(Do::kPause, ns);
    (void)deed;
  });
  each(DeedKind::kDeviceSync, step, [&](const Deed& deed, double ns) {
    const int stride = std::max(1, layers / std::max(1, deed.count));
    if (layer % stride != 0 || layer / stride >= deed.count) return;
    frames(writer, deed.frames);
    writer.item();
    writer.extra_ns(Do::kWork, ns / deed.count);
    leave(writer, deed.frames.size());
  });
  each(DeedKind::kAllocatorRetry, step, [&](const Deed& deed, double ns) {
    const int stride = std::max(1, layers / std::max(1, deed.count));
    if (layer % stride != 0 || layer / stride >= deed.count) return;
    writer.begin(SpanKind::kOperator, "aten::empty");
    writer.begin(SpanKind::kRuntime, "cudaFree");
    writer.sync("");
    writer.end();
    writer.driver("cudaFree", ns / deed.count * 0.35 / 1e3);
    writer.driver("cudaMalloc", ns / deed.count * 0.65 / 1e3);
    writer.end();
  });
  if (layer != layers / 2) return;
  each(DeedKind::kHang, step, [&](const Deed& deed, double) {
    frames(writer, deed.frames);
    writer.emit(Do::kHang);
  });
  each(DeedKind::kDie, step, [&](const Deed&, double) { writer.emit(Do::kDie); });
  each(DeedKind::kStop, step, [&](const Deed&, double) { writer.emit(Do::kStop); });
}

void DeedWriter::choose_kernels(RankWriter& writer) const {
  each(DeedKind::kKernelVariant, writer.step(), [&](const Deed& deed, double) { writer.set_variant(deed.factor); });
}

void DeedWriter::step_end(RankWriter& writer) const {
  const int step = writer.step();
  each(DeedKind::kLogging, step, [&](const Deed& deed, double ns) {
    frames(writer, deed.frames);
    for (int i = 0; i < deed.count; ++i) {
      frames(writer, {"logging/__init__.py(1489): info", "logging/__init__.py(1100): emit",
                      "<built-in method write of _io.TextIOWrapper object at 0x7f2b4f1c8a00>"});
      writer.extra_ns(Do::kWork, ns / deed.count * 0.2);
      writer.extra_ns(Do::kIo, ns / deed.count * 0.8);
      leave(writer, 3);
    }
    leave(writer, deed.frames.size());
  });
  each(DeedKind::kCheckpoint, step, [&](const Deed& deed, double ns) { save(writer, deed, ns); });
}

int DeedWriter::repeats(int step) const {
  int count = 0;
  for (const Deed& deed : plant_.deeds)
    count += deed.kind == DeedKind::kRepeatStep && acts(deed, step) ? deed.count : 0;
  return count;
}

bool DeedWriter::evaluates(int step) const {
  for (const Deed& deed : plant_.deeds) {
    if (deed.kind == DeedKind::kEvaluation && acts(deed, step)) return true;
  }
  return false;
}

double DeedWriter::mismatched_elements(int step, double elements) const {
  for (const Deed& deed : plant_.deeds) {
    if (deed.kind == DeedKind::kMismatch && acts(deed, step)) return elements * deed.factor;
  }
  return elements;
}

}  // namespace eroica
