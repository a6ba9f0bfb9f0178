"""A loop of PyTorch's on the GPU, for SECONDS: says "ready" once it runs, and its rounds at its end."""
import sys
import time

import torch

x = torch.randn(1024, 1024, device="cuda")
layer = torch.nn.Linear(1024, 1024).cuda()


def train():
    global x
    x = torch.relu(layer(x)).detach()


train()
torch.cuda.synchronize()
print("ready", flush=True)
end, rounds = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    for _ in range(50):
        train()
    torch.cuda.synchronize()
    rounds += 1
print("rounds", rounds, flush=True)
