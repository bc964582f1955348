"""A small training job on one GPU, for so many seconds (bench/gpu_check.sh): matrix products, copies, an optimizer."""

import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU())])
    model = model.to(device, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(TensorDataset(torch.randn(4096, 4096)), batch_size=2048)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        for (batch,) in loader:
            loss = model(batch.to(device, torch.bfloat16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
