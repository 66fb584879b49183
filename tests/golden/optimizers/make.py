#!/usr/bin/env python3
"""Makes optimizers.safetensors and optimizers.json: five steps of each optimizer on recorded gradients, by PyTorch 2.9.1,
transformers 4.57.6 and Keras (TensorFlow 2.21); LAMB with decay, which none of them has, by algorithm 2 of You et al.
2020 in double precision (checked here against Keras' LAMB without decay). Also decayed.json, the names that
transformers' Trainer decays in tiny models, and schedules.json, rates by transformers' schedules. Run in this folder:
make.py. Tensors: "start/<parameter>", "grad<step>/<parameter>", "<case>/<parameter>" after the last step."""
import json, os
os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "USE_TF": "0", "CUDA_VISIBLE_DEVICES": ""}
import numpy, torch, transformers
from safetensors.numpy import save_file
from transformers.optimization import Adafactor
import transformers.optimization as schedules

torch.manual_seed(11)
torch.set_num_threads(1)
STEPS, RATES = 5, [1e-2, 8e-3, 6e-3, 4e-3, 2e-3]
SHAPES = {"layer.weight": (6, 5), "table.weight": (9, 4), "layer.bias": (6,)}
start = {n: 0.3 * torch.randn(s) for n, s in SHAPES.items()}
grads = [{n: 0.2 * torch.randn(s) for n, s in SHAPES.items()} for _ in range(STEPS)]
tensors = {f"start/{n}": p.numpy() for n, p in start.items()}
for i, g in enumerate(grads):
    tensors |= {f"grad{i}/{n}": x.numpy() for n, x in g.items()}
cases = {}


def record(case, options, parameters):
    cases[case] = options
    tensors.update({f"{case}/{n}": numpy.asarray(p, dtype="float32").copy() for n, p in parameters.items()})


def torch_case(case, make, decay, options, scheduled=True):
    p = {n: torch.nn.Parameter(x.clone()) for n, x in start.items()}
    groups = [{"params": [x for n, x in p.items() if "bias" not in n], "weight_decay": decay},
              {"params": [x for n, x in p.items() if "bias" in n], "weight_decay": 0.0}]
    optimizer = make(groups)
    for i in range(STEPS):
        for n, x in p.items():
            x.grad = grads[i][n].clone()
        if scheduled:
            for group in optimizer.param_groups:
                group["lr"] = RATES[i]
        optimizer.step()
    record(case, options, {n: x.detach().numpy() for n, x in p.items()})


def keras_case(case, optimizer, options, exclude):
    import keras
    p = {n: keras.Variable(x.numpy(), name=n.replace(".", "_")) for n, x in start.items()}
    if exclude:
        optimizer.exclude_from_weight_decay(var_names=["bias"])
    optimizer.build(list(p.values()))
    for i in range(STEPS):
        optimizer.learning_rate = RATES[i]
        optimizer.apply([keras.ops.convert_to_tensor(grads[i][n].numpy()) for n in p], list(p.values()))
    result = {n: x.numpy() for n, x in p.items()}
    if case:
        record(case, options, result)
    return result


def lamb(decay, adapt_all=False):
    p = {n: x.double().clone() for n, x in start.items()}
    m, v = ({n: torch.zeros_like(x) for n, x in p.items()} for _ in range(2))
    for i in range(STEPS):
        for n, w in p.items():
            g = grads[i][n].double()
            m[n] = 0.9 * m[n] + 0.1 * g
            v[n] = 0.999 * v[n] + 0.001 * g * g
            u = m[n] / (1 - 0.9 ** (i + 1)) / ((v[n] / (1 - 0.999 ** (i + 1))).sqrt() + 1e-6)
            ratio = 1.0
            if adapt_all or "bias" not in n:
                u = u + decay * w
                ratio = w.norm() / u.norm()
            p[n] = w - RATES[i] * ratio * u
    return {n: x.numpy() for n, x in p.items()}


torch_case("adamw", lambda g: torch.optim.AdamW(g, lr=1e-2), 0.01, {"optimizer": "adamw-hf", "weight_decay": 0.01})
torch_case("sgd", lambda g: torch.optim.SGD(g, lr=1e-2, momentum=0.9), 0.01, {"optimizer": "sgd", "weight_decay": 0.01})
torch_case("nesterov", lambda g: torch.optim.SGD(g, lr=1e-2, momentum=0.9, nesterov=True), 0.0,
           {"optimizer": "sgd", "nesterov": True})
torch_case("plain_sgd", lambda g: torch.optim.SGD(g, lr=1e-2), 0.0, {"optimizer": "sgd", "momentum": 0.0})
torch_case("adafactor", lambda g: Adafactor(g), 0.0, {"optimizer": "adafactor"}, scheduled=False)
torch_case("adafactor_warmup", lambda g: Adafactor(g, warmup_init=True), 0.0,
           {"optimizer": "adafactor", "warmup_init": True}, scheduled=False)
torch_case("adafactor_fixed", lambda g: Adafactor(g, lr=1e-2, scale_parameter=False, relative_step=False, beta1=0.9),
           0.1, {"optimizer": "adafactor", "scale_parameter": False, "relative_step": False, "beta1": 0.9,
                 "weight_decay": 0.1})
import keras
keras_case("adamw_keras", keras.optimizers.AdamW(), {"optimizer": "adamw-keras"}, True)
theirs = keras_case(None, keras.optimizers.Lamb(epsilon=1e-6), {}, False)
for n, x in lamb(0.0, adapt_all=True).items():
    assert numpy.abs(x - theirs[n]).max() < 2e-6, n
record("lamb", {"optimizer": "lamb"}, lamb(0.01))
save_file(tensors, "optimizers.safetensors")
json.dump({"rates": RATES, "cases": cases}, open("optimizers.json", "w"), indent=1)

# Names that transformers decays.
from transformers import Trainer
names = {}
small = dict(vocab_size=16, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
for model in [transformers.BertForPreTraining(transformers.BertConfig(**small)),
              transformers.ElectraForMaskedLM(transformers.ElectraConfig(embedding_size=4, **small)),
              transformers.ElectraForSequenceClassification(transformers.ElectraConfig(embedding_size=4, **small)),
              transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=16, n_embd=8, n_layer=1, n_head=1))]:
    decayed = set(Trainer.get_decay_parameter_names(None, model))
    names |= {n: n in decayed for n, _ in model.named_parameters()}
json.dump(names, open("decayed.json", "w"), indent=1)

# Rates by transformers' schedules: peak 3e-4, warm-up 10, 100 steps in all.
dummy = lambda: torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
made = {
    "constant": schedules.get_constant_schedule_with_warmup(dummy(), 10),
    "linear": schedules.get_linear_schedule_with_warmup(dummy(), 10, 100),
    "cosine": schedules.get_cosine_schedule_with_warmup(dummy(), 10, 100),
    "polynomial": schedules.get_polynomial_decay_schedule_with_warmup(dummy(), 10, 100, lr_end=1e-5, power=2.0),
    "inverse_sqrt": schedules.get_inverse_sqrt_schedule(dummy(), 10),
    "wsd": schedules.get_wsd_schedule(dummy(), 10, 20, num_training_steps=100),
    "linear_without_warmup": schedules.get_linear_schedule_with_warmup(dummy(), 0, 100),
    "inverse_sqrt_timescale": schedules.get_inverse_sqrt_schedule(dummy(), 10, timescale=50),
    "wsd_linear": schedules.get_wsd_schedule(dummy(), 10, 20, num_training_steps=100, decay_type="linear",
                                             min_lr_ratio=0.1),
    "wsd_1-sqrt": schedules.get_wsd_schedule(dummy(), 10, 20, num_training_steps=100, decay_type="1-sqrt"),
}
json.dump({k: [s.lr_lambdas[0](i) * 3e-4 for i in range(103)] for k, s in made.items()},
          open("schedules.json", "w"))
