"""A Megatron-core job of 8 processes on the CPU, as TP2 × PP2 × DP2: its own schedule, DDP and optimizer.

    torchrun --standalone --nproc-per-node 8 megatron_job.py FOLDER

Megatron wants a GPU: what it asks of one is answered by the CPU. FOLDER is used as demo/job.py does: `on/burn-RANK`
lets that rank compute in Python for each micro-batch, `stop` ends the job, `step` says how far it is.
"""

import os
import sys
import time

os.environ["TORCHDYNAMO_DISABLE"] = "1"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from megatron.core import parallel_state, tensor_parallel  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads  # noqa: E402
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

FOLDER = sys.argv[1]
RANK = int(os.environ["RANK"])
LENGTH, VOCABULARY, MICRO_BATCHES = 32, 128, 4


class Nothing:
    """Stands for a stream or an event of a device that there is none of."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __getattr__(self, _):
        return lambda *_, **__: None


def on_cpu(make):
    def made(*args, device=None, **kwargs):
        is_cuda = device is not None and (device == "cuda" or "cuda" in str(device))
        return make(*args, device="cpu" if is_cuda else device, **kwargs)

    return made


def pretend_that_there_is_a_gpu():
    cpu = torch.device("cpu")
    for name in ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device"):
        setattr(torch.cuda, name, lambda *_, **__: None)
    torch.cuda.current_device = lambda: cpu
    torch.cuda.Stream = torch.cuda.Event = Nothing
    torch.cuda.stream = torch.cuda.current_stream = lambda *_, **__: Nothing()
    torch.cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    torch.cuda.set_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    for name in ("zeros", "ones", "empty", "full", "tensor", "arange", "zeros_like"):
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.Tensor.cuda = lambda self, *_, **__: self
    type_of = torch.Tensor.type
    torch.Tensor.type = lambda self, *args, **kwargs: (
        type_of(self, *args, **kwargs) if args or kwargs else "torch.cuda.FloatTensor")
    tensor_parallel.random._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
    tensor_parallel.random._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)


class Tokens(Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        tokens = (torch.arange(LENGTH + 1) * 7 + index) % VOCABULARY
        return tokens[:-1], tokens[1:]


def burn_python():
    total = 0.0
    for i in range(400_000):
        total += i * 0.5
    return total


def forward_step(batches, model):
    if os.path.exists(f"{FOLDER}/on/burn-{RANK}"):
        burn_python()
    tokens, labels = next(batches)
    positions = torch.arange(LENGTH).expand_as(tokens)
    mask = torch.ones(1, 1, LENGTH, LENGTH).triu(1).bool()
    return model(tokens, positions, mask, labels=labels), lambda output: (output.mean(), {})


def train(model, optimizer, schedule):
    batches = iter(DataLoader(Tokens(), batch_size=2))
    stop = torch.zeros(1)
    step = 0
    while stop[0] == 0:
        optimizer.zero_grad()
        model.zero_grad_buffer()
        schedule(forward_step_func=forward_step, data_iterator=batches, model=[model], num_microbatches=MICRO_BATCHES,
                 seq_length=LENGTH, micro_batch_size=2, forward_only=False)
        optimizer.step()
        step += 1
        # As if an accelerator computed meanwhile: few machines have a CPU to spare for each rank.
        time.sleep(0.1)
        if step % 10 == 0:
            if RANK == 0:
                with open(f"{FOLDER}/step", "w") as file:
                    file.write(str(step))
            stop[0] = os.path.exists(f"{FOLDER}/stop")
            dist.all_reduce(stop)


def main():
    torch.set_num_threads(1)
    pretend_that_there_is_a_gpu()
    dist.init_process_group("gloo")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=2)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(
        num_layers=4, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True, pipeline_dtype=torch.float32,
        tensor_model_parallel_size=2, pipeline_model_parallel_size=2, hidden_dropout=0.0, attention_dropout=0.0,
        gradient_accumulation_fusion=False, bias_activation_fusion=False, masked_softmax_fusion=False,
        finalize_model_grads_func=finalize_model_grads)
    model = GPTModel(
        config, get_gpt_layer_local_spec(), VOCABULARY, LENGTH,
        pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage())
    model = DistributedDataParallel(
        config, DistributedDataParallelConfig(overlap_grad_reduce=False, use_distributed_optimizer=False), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, use_distributed_optimizer=False), [model])
    train(model, optimizer, get_forward_backward_func())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
