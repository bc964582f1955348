#include "pattern/identity.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

struct PythonCase {
  std::string raw;
  std::string text;
  std::string file;
  int32_t line;
  bool framework;
};

TEST(PythonIdentity, SaysWhoseCodeRan) {
  const std::vector<PythonCase> cases{
      // The user's own code.
      {"train.py(41): augment", "augment", "train.py", 41, false},
      {"/home/alice/proj/src/train.py(41): augment", "augment", "proj/src/train.py", 41, false},
      {"/root/proj/src/train.py(41): augment", "augment", "proj/src/train.py", 41, false},
      {"/workspace/train.py(41): augment", "augment", "train.py", 41, false},
      {"/job/1234/src/train.py(41): augment", "augment", "src/train.py", 41, false},
      {"/tmp/tmpab12cd/src/train.py(41): augment", "augment", "src/train.py", 41, false},
      {"/mnt/a/b/c/proj/data/loader.py(7): <lambda>", "<lambda>", "proj/data/loader.py", 7, false},
      {"/opt/ml/code/engine/train_loop.py(3): run", "run", "code/engine/train_loop.py", 3, false},
      {"/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a1b2c3d/src/a.py(9): f", "f", "src/a.py", 9,
       false},
      {"trainer/loop.py(12): fit", "fit", "trainer/loop.py", 12, false},
      {"./trainer/../train.py(12): fit", "fit", "train.py", 12, false},
      {"profile.py(5): main", "main", "profile.py", 5, false},
      {"<string>(2): __init__", "__init__", "<string>", 2, false},
      {"/tmp/ipykernel_812/2312.py(1): <module>", "<module>", "<ipython-input>", 1, true},
      // Libraries of the user's choice.
      {"megatron/core/optimizer/optimizer.py(450): step", "step", "megatron/core/optimizer/optimizer.py", 450, false},
      {"/opt/conda/lib/python3.10/site-packages/transformers/activations.py(56): forward", "forward",
       "transformers/activations.py", 56, false},
      // Framework.
      {"torch/nn/modules/module.py(1782): _call_impl", "_call_impl", "torch/nn/modules/module.py", 1782, true},
      {"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1782): _call_impl", "_call_impl",
       "torch/nn/modules/module.py", 1782, true},
      {"/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py(10): sum", "sum", "numpy/core/fromnumeric.py", 10,
       true},
      {"/sgl-workspace/triton-custom/python/triton/runtime/jit.py(600): run", "run", "triton/runtime/jit.py", 600,
       true},
      {"/root/pytorch/torch/optim/adam.py(220): step", "step", "torch/optim/adam.py", 220, true},
      {"/work/tree/probe/eroica_probe/channel.py(118): send_step", "send_step", "eroica_probe/channel.py", 118, true},
      {"eroica_probe/channel.py(118): send_step", "send_step", "eroica_probe/channel.py", 118, true},
      {"threading.py(1032): run", "run", "threading.py", 1032, true},
      {"/usr/lib/python3.11/threading.py(1032): run", "run", "threading.py", 1032, true},
      {"/root/.pyenv/versions/3.12.4/lib/python3.12/logging/__init__.py(1720): isEnabledFor", "isEnabledFor",
       "logging/__init__.py", 1720, true},
      {"logging/__init__.py(1720): isEnabledFor", "isEnabledFor", "logging/__init__.py", 1720, true},
      {"<frozen importlib._bootstrap>(241): _call_with_frames_removed", "_call_with_frames_removed",
       "importlib/_bootstrap.py", 241, true},
      {"<eval_with_key>.123(5): forward", "forward", "<eval_with_key>", 5, true},
      {"/tmp/torchinductor_root/ob/cobhwrc24pdghpldxgebph5xuspi6ydi477zebl46iwvbkhoe4qu.py(132): call", "call",
       "<torchinductor>", 132, true},
      {"train.py(88): torch_dynamo_resume_in_forward_at_88", "torch_dynamo_resume_in_forward", "train.py", 88, false},
      // Built-ins and modules: no file.
      {"<built-in method add_ of Parameter object at 0x7f1ff37a7010>", "Parameter.add_", "", 0, true},
      {"<built-in method run_backward of torch._C._EngineBase object at 0x7f1ff37a7010>",
       "torch._C._EngineBase.run_backward", "", 0, true},
      {"<built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1_system_libstdcpp_gxx_abi_1xxx_"
       "use_cxx11_abi_1 object at 0x7f1>",
       "wait", "", 0, true},
      {"<built-in method wait of PyCapsule object at 0x7f1ff37a7010>", "wait", "", 0, true},
      {"<built-in method  of PyCapsule object at 0x7f1ff37a7010>", "(unnamed)", "", 0, true},
      {"<built-in function linear>", "linear", "", 0, true},
      {"nn.Module: Linear_5", "nn.Module: Linear_5", "", 0, true},
  };
  for (const PythonCase& expected : cases) {
    SCOPED_TRACE(expected.raw);
    const CanonicalName name = canonical_python(expected.raw);
    EXPECT_EQ(name.text, expected.text);
    EXPECT_EQ(name.function, expected.text);
    EXPECT_EQ(name.file, expected.file);
    EXPECT_EQ(name.line, expected.line);
    EXPECT_EQ(name.framework, expected.framework);
    EXPECT_EQ(name.full, "");
  }
}

TEST(PythonIdentity, WhateverIsNoFrameIsKeptAsItIs) {
  for (const char* raw : {"", "x", "(12): f", "f(): g", "f(x): g", "a.py(12)", "a.py(12): "}) {
    SCOPED_TRACE(raw);
    EXPECT_NO_FATAL_FAILURE(canonical_python(raw));
  }
  EXPECT_EQ(canonical_python("f(x): g").text, "f(x): g");
  EXPECT_EQ(canonical_python("a.py(99999999999999): f").line, 0);
  EXPECT_EQ(canonical_python("odd(1): name.py(12): f").file, "odd(1): name.py");
}

TEST(PythonIdentity, TheSameOnEveryMachine) {
  const auto hash = [](std::string_view raw) { return function_hash(FunctionKind::kPython, canonical_python(raw)); };
  EXPECT_EQ(hash("/home/alice/proj/a/train.py(41): f"), hash("/job/8812/proj/a/train.py(43): f"));
  EXPECT_EQ(hash("<built-in method t of Tensor object at 0x7f1ff37a7010>"),
            hash("<built-in method t of Tensor object at 0x55d0a1b2c3d4>"));
  EXPECT_EQ(hash("torch/optim/sgd.py(1): step"),
            hash("/opt/x/lib/python3.9/site-packages/torch/optim/sgd.py(9): step"));
  EXPECT_EQ(hash("<frozen posixpath>(71): join"), hash("/usr/lib/python3.10/posixpath.py(77): join"));
}

TEST(FunctionHash, TellsApartWhatDiffers) {
  const CanonicalName f = canonical_python("a.py(1): f");
  std::set<uint64_t> hashes;
  hashes.insert(function_hash(FunctionKind::kPython, f));
  hashes.insert(function_hash(FunctionKind::kFetch, f));
  hashes.insert(function_hash(FunctionKind::kPython, f, 7));
  hashes.insert(function_hash(FunctionKind::kPython, canonical_python("b.py(1): f")));
  hashes.insert(function_hash(FunctionKind::kPython, canonical_python("a.py(1): g")));
  EXPECT_EQ(hashes.size(), 5u);
}

struct KernelCase {
  std::string raw;
  std::string text;
  std::string full;
};

TEST(KernelIdentity, IsShortForPeopleAndWholeForTheTable) {
  const std::vector<KernelCase> cases{
      {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", ""},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ""},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, "
       "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, "
       "at::detail::Array<char*, 3>)",
       "vectorized_elementwise_kernel<BinaryFunctor<MulFunctor<float>>>",
       "at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >"},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}, std::array<char*, 2ul>, "
       "4>(int, std::array<char*, 2ul>)",
       "unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
       "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()}::operator()() const::{lambda()}::operator()() const::{lambda(long)}, std::array<char*, 2ul>, 4>"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*)",
       "softmax_warp_forward<float>",
       "(anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>"},
      {"std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
       "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
       "vllm::fused_add_rms_norm_kernel<BFloat16>", "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"},
      {"void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int, (cub::BlockLoadAlgorithm)3>, int*>(int*)",
       "cub::DeviceScanKernel<AgentScanPolicy<int>>",
       "cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int, (cub::BlockLoadAlgorithm)3>, int*>"},
      {"triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul", ""},
      {"_fwd_kernel_0d1d2d3de", "_fwd_kernel", ""},
      {"Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN.kd", "Cijk_Ailk_Bljk_BBS_BH_MT32x32x64",
       "Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN"},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEvPT0_ [clone .kd]", "aiter::add_rmsnorm_quant_kernel",
       "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEvPT0_"},
      {"_ZN2ck12_GLOBAL__N_14gemmIfEEvv", "ck::(anonymous namespace)::gemm", "_ZN2ck12_GLOBAL__N_14gemmIfEEvv"},
      {"_Z6kernelPf", "kernel", "_Z6kernelPf"},
      {"Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)", ""},
  };
  for (const KernelCase& expected : cases) {
    SCOPED_TRACE(expected.raw);
    const CanonicalName name = canonical_kernel(expected.raw);
    EXPECT_EQ(name.text, expected.text);
    EXPECT_EQ(name.full, expected.full);
    EXPECT_EQ(name.file, "");
  }
}

TEST(KernelIdentity, OddNamesStayNames) {
  for (const char* raw : {"<", ">", "(", ")", "a<b", "a<b(c", "f(", "f)", "_Z", "_ZN", "_ZN9x", "operator<(int)",
                          "::", "a::", "{lambda#", "void ", " x ", "_ZN99999999999999999999x"}) {
    SCOPED_TRACE(raw);
    EXPECT_FALSE(canonical_kernel(raw).text.empty());
  }
}

TEST(OperatorIdentity, LosesWhatCountsOrPoints) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"aten::addmm", "aten::addmm"},
      {"ProfilerStep#1009", "ProfilerStep"},
      {"Optimizer.step#SGD.step", "Optimizer.step#SGD.step"},
      {"Torch-Compiled Region: 3/2", "Torch-Compiled Region: 3"},
      {"## Call CompiledFxGraph fud64jsrxcxliekg7lptyw24yz5k3oa65b73wjfbhz6j2fg6ouu7 ##", "## Call CompiledFxGraph ##"},
      {"predictor_executor::run gif_thread_id:1454", "predictor_executor::run gif_thread_id"},
      {"<torch_package_0>.x.Gather", "<torch_package>.x.Gather"},
      {"hook <function f at 0x7f1ff37a7010>", "hook <function f>"},
      {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
      {"Memset 0x0", "Memset 0x0"},
  };
  for (const auto& [raw, text] : cases) {
    EXPECT_EQ(canonical_operator(raw).text, text);
  }
}

TEST(OperatorIdentity, LongNamesAreCutForPeopleButStayApart) {
  const std::string long_name(5000, 'x');
  const CanonicalName a = canonical_operator(long_name + "a");
  const CanonicalName b = canonical_operator(long_name + "b");
  EXPECT_EQ(a.text, b.text);
  EXPECT_LE(a.text.size(), 96u);
  EXPECT_LE(a.full.size(), 1024u);
  EXPECT_NE(function_hash(FunctionKind::kOperator, a), function_hash(FunctionKind::kOperator, b));
}

/// Strings made of what the parsers look for.
rc::Gen<std::string> odd_name() {
  const auto piece = rc::gen::elementOf(std::vector<std::string>{"(",
                                                                 ")",
                                                                 "<",
                                                                 ">",
                                                                 "{lambda",
                                                                 "#1",
                                                                 "::",
                                                                 ",",
                                                                 " ",
                                                                 "operator",
                                                                 "void ",
                                                                 "a",
                                                                 "at",
                                                                 "0x7f1ff37a7010",
                                                                 "(12): ",
                                                                 "/",
                                                                 ".py",
                                                                 "tmp",
                                                                 "_ZN",
                                                                 "5aiter",
                                                                 "St",
                                                                 "12",
                                                                 "<built-in method ",
                                                                 " of ",
                                                                 " object",
                                                                 ">",
                                                                 "<frozen ",
                                                                 "\xff",
                                                                 "é",
                                                                 "site-packages/",
                                                                 "lib/python3.9/",
                                                                 "..",
                                                                 "triton_",
                                                                 "_",
                                                                 "\n",
                                                                 "Cijk_",
                                                                 "_MT"});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string text;
    for (const std::string& each : pieces) {
      text += each;
    }
    return text;
  });
}

bool is_clean(const std::string& text) {
  return text.find('\n') == std::string::npos && text.find('\xff') == std::string::npos;
}

RC_GTEST_PROP(Identity, AnyNameGivesBoundedCleanText, ()) {
  const std::string raw = *odd_name();
  for (const CanonicalName& name : {canonical_python(raw), canonical_kernel(raw), canonical_operator(raw)}) {
    RC_ASSERT(name.text.size() <= 96u);
    RC_ASSERT(name.full.size() <= 1024u);
    RC_ASSERT(name.file.size() <= 1024u);
    RC_ASSERT(is_clean(name.text) && is_clean(name.full) && is_clean(name.file) && is_clean(name.function));
  }
}

RC_GTEST_PROP(Identity, OperatorsAreStableUnderRepetition, ()) {
  const std::string raw = *odd_name();
  const std::string once =
      canonical_operator(raw).full.empty() ? canonical_operator(raw).text : canonical_operator(raw).full;
  const CanonicalName again = canonical_operator(once);
  RC_ASSERT((again.full.empty() ? again.text : again.full) == once);
}

}  // namespace
}  // namespace eroica
