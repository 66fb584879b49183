"""Writes masking.json from the recorded training traces of google-research/electra.

Usage: python make_masking.py FOLDER   (holds <trace>/trace.safetensors and <trace>/meta.json; needs safetensors)

Per row: input_ids, input_mask, and what the original made of its draws: masked_lm_positions,
masked_lm_weights, masked_lm_ids, masked_input_ids.
"""
import json
import pathlib
import sys

from safetensors.numpy import load_file

TRACES = ["tf1_electra_small", "tf1_electra_base", "trace_tied_all", "trace_untied_emb",
          "trace_disallow", "trace_bert", "trace_electric"]
NAMES = ["in/input_ids", "in/input_mask", "masked_lm_positions", "masked_lm_weights",
         "masked_lm_ids", "masked_input_ids"]

folder = pathlib.Path(sys.argv[1])
rows = []
for trace in TRACES:
    tensors = load_file(folder / trace / "trace.safetensors")
    meta = json.loads((folder / trace / "meta.json").read_text())
    step = 0
    while f"step{step}/in/input_ids" in tensors:
        values = {n.removeprefix("in/"): tensors[f"step{step}/{n}"].astype(int) for n in NAMES}
        for b in range(len(values["input_ids"])):
            row = {"trace": trace, "step": step, "row": b,
                   "max_predictions_per_seq": meta["max_predictions_per_seq"]}
            row.update({n: v[b].tolist() for n, v in values.items()})
            rows.append(row)
        step += 1
path = pathlib.Path(__file__).with_name("masking.json")
path.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
print(f"{path}: {len(rows)} rows")
