"""Reads a folder of event files with TensorBoard and prints what it holds as JSON.

Usage: events_check.py FOLDER
  {"tag": [[step, value], ...], ...}; texts as they are, scalars as numbers.
"""
import json
import sys

from tensorboard.backend.event_processing import data_ingester  # noqa: F401  (fails early)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

accumulator = EventAccumulator(sys.argv[1], size_guidance={"tensors": 0})
accumulator.Reload()
found = {"plugins": {}}
for tag in accumulator.Tags()["tensors"]:
    metadata = accumulator.SummaryMetadata(tag)
    found["plugins"][tag] = metadata.plugin_data.plugin_name
    points = []
    for event in accumulator.Tensors(tag):
        value = tensor_util.make_ndarray(event.tensor_proto)
        points.append([event.step, value.item().decode() if value.dtype == object
                       else float(value)])
    found[tag] = points
print(json.dumps(found, ensure_ascii=False))
