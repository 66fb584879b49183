"""PyTorch side of kernels_bench: the same names, shapes and calls per step, eager float32 on the CPU.

  python kernels_torch.py [--threads 1] [--min-time 0.2] [--filter TEXT]

Times are CPU time of the calling thread on one thread (the default) and wall time otherwise, as kernels_bench
has it; the best of the repetitions. Backward of a linear layer is measured as the products autograd runs.
"""
import argparse
import time

import torch
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--min-time", type=float, default=0.2)
parser.add_argument("--filter", default="")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
clock = time.thread_time if args.threads == 1 else time.perf_counter

BATCH, TIME, LAYERS = 32, 128, 12
TOKENS = BATCH * TIME
entries = []  # name, calls per step, maker


def entry(name, calls):
    return lambda maker: entries.append((name, calls, maker))


def backward(output, inputs):
    grad = torch.randn_like(output)
    return lambda: torch.autograd.grad(output, inputs, grad, retain_graph=True)


def linear(name, calls, n_in, n_out, gelu):
    @entry(f"{name}/forward", calls)
    def _():
        x, w, b = torch.randn(TOKENS, n_in), torch.randn(n_out, n_in) * 0.05, torch.randn(n_out)
        return (lambda: F.gelu(F.linear(x, w, b))) if gelu else (lambda: F.linear(x, w, b))

    @entry(f"{name}/backward_input", calls)
    def _():
        dy, w = torch.randn(TOKENS, n_out), torch.randn(n_out, n_in)
        if not gelu:
            return lambda: dy @ w
        u = torch.randn(TOKENS, n_out)
        return lambda: torch.ops.aten.gelu_backward(dy, u) @ w

    @entry(f"{name}/backward_weight", calls)
    def _():
        dy, x = torch.randn(TOKENS, n_out), torch.randn(TOKENS, n_in)
        return lambda: (dy.t() @ x, dy.sum(0))


def attention(name, heads):
    def forward(q, k, v, bias):
        split = lambda x: x.view(BATCH, TIME, heads, 64).transpose(1, 2)
        p = torch.softmax(split(q) @ split(k).transpose(-1, -2) / 8.0 + bias, -1)
        return (F.dropout(p, 0.1) @ split(v)).transpose(1, 2).reshape(BATCH, TIME, heads * 64)

    def make():
        bias = torch.zeros(BATCH, 1, 1, TIME)
        return [torch.randn(BATCH, TIME, heads * 64, requires_grad=True) for _ in range(3)], bias

    @entry(f"{name}/forward", LAYERS)
    def _():
        qkv, bias = make()
        return lambda: forward(*qkv, bias)

    @entry(f"{name}/backward", LAYERS)
    def _():
        qkv, bias = make()
        return backward(forward(*qkv, bias), qkv)


def layer_norm(name, hidden):
    def make():
        x, h = (torch.randn(TOKENS, hidden, requires_grad=True) for _ in range(2))
        gamma, beta = (torch.randn(hidden, requires_grad=True) for _ in range(2))
        return (x, h, gamma, beta), lambda: F.layer_norm(x + F.dropout(h, 0.1), (hidden,), gamma, beta, 1e-12)

    @entry(f"{name}/forward", 2 * LAYERS)
    def _():
        return make()[1]

    @entry(f"{name}/backward", 2 * LAYERS)
    def _():
        inputs, forward = make()
        return backward(forward(), inputs)


def encoder(name, hidden, heads):
    linear(f"{name}/projection", 4 * LAYERS, hidden, hidden, False)
    linear(f"{name}/intermediate", LAYERS, hidden, 4 * hidden, True)
    linear(f"{name}/output", LAYERS, 4 * hidden, hidden, False)
    attention(f"{name}/attention", heads)
    layer_norm(f"{name}/residual_layer_norm", hidden)


def vocabulary():
    def make():
        h = torch.randn(608, 128, requires_grad=True)
        w = (torch.randn(35000, 128) * 0.05).requires_grad_()
        b = torch.randn(35000, requires_grad=True)
        return (h, w, b), torch.randint(0, 35000, (608,))

    @entry("vocabulary/forward", 1)
    def _():
        (h, w, b), y = make()

        def run():
            logits = F.linear(h, w, b)
            loss = F.cross_entropy(logits, y)
            with torch.no_grad():
                u = torch.rand_like(logits)
                (logits - torch.log(-torch.log(u + 1e-9) + 1e-9)).argmax(-1)
            return loss

        return run

    @entry("vocabulary/backward", 1)
    def _():
        inputs, y = make()
        return backward(F.cross_entropy(F.linear(*inputs), y), inputs)


def rest():
    parameters, embedding = 14_773_881, 128
    tables = [torch.randn(n, embedding, requires_grad=True) for n in (35000, TIME, 2)]
    ids = [torch.randint(0, 35000, (TOKENS,)), torch.arange(TIME).repeat(BATCH), torch.randint(0, 2, (TOKENS,))]

    @entry("embedding/forward", 2)
    def _():
        return lambda: sum(F.embedding(i, t) for i, t in zip(ids, tables))

    @entry("embedding/backward", 2)
    def _():
        return backward(F.embedding(ids[0], tables[0]), [tables[0]])

    @entry("embedding/dropout", 4)
    def _():
        x = torch.randn(TOKENS, embedding)
        return lambda: F.dropout(x, 0.1)

    @entry("optimizer/global_norm", 1)
    def _():
        g = torch.randn(parameters)
        return lambda: torch.linalg.vector_norm(g)

    @entry("optimizer/adam", 1)
    def _():
        w = torch.randn(parameters, requires_grad=True)
        w.grad = torch.randn(parameters)
        optimizer = torch.optim.AdamW([w], 1e-4, fused=True)
        return optimizer.step

    @entry("single/gelu_forward", 0)
    def _():
        x = torch.randn(TOKENS, 1024)
        return lambda: F.gelu(x)

    @entry("single/dropout", 0)
    def _():
        x = torch.randn(TOKENS, 256)
        return lambda: F.dropout(x, 0.1)


def best_ms(call):
    call()
    best, spent, count = float("inf"), 0.0, 0
    while spent < args.min_time or count < 3:
        t = clock()
        call()
        t = clock() - t
        best, spent, count = min(best, t), spent + t, count + 1
    return 1e3 * best


encoder("discriminator", 256, 4)
encoder("generator", 64, 1)
vocabulary()
rest()
groups = {}
for name, calls, maker in entries:
    if args.filter not in name:
        continue
    ms = best_ms(maker())
    group = name.split("/")[0]
    groups[group] = groups.get(group, 0.0) + calls * ms
    print(f"{name:45s} {ms:9.3f} ms x {calls:2d}", flush=True)
for group, ms in sorted(groups.items()):
    print(f"step {group:16s} {ms:9.1f} ms")
print(f"step {'total':16s} {sum(groups.values()):9.1f} ms")
