"""Makes the lists of this folder from the meta.json of recorded google-research/electra runs.

Usage: make.py FIXTURES   (the folder that holds tf1_electra_small, trace_bert, ...)
"""
import json
import os
import sys

RUNS = {"small": "tf1_electra_small", "base": "tf1_electra_base", "tied_all": "trace_tied_all",
        "untied_embeddings": "trace_untied_emb", "mlm": "trace_bert"}
here = os.path.dirname(os.path.abspath(__file__))
for name, run in RUNS.items():
    with open(os.path.join(sys.argv[1], run, "meta.json"), encoding="utf-8") as file:
        variables = json.load(file)["variables"]
    with open(os.path.join(here, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(list(variables), file, indent=0)
