"""Reads TFRecord files with TensorFlow and prints what it finds as one JSON object.

Usage: tfrecord_check.py FOLDER
  FOLDER/raw          any records; printed as hex
  FOLDER/pretrain     the three features of google-research/electra, 64 values each
  FOLDER/all          tf.train.Examples; every feature, by protobuf
  FOLDER/theirs*      written by this script, for the test to read back
"""
import json
import math
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402


def number(value):
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def features(serialized):
    example = tf.train.Example.FromString(serialized)
    found = {}
    for key, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value if kind else []
        if kind == "bytes_list":
            values = [value.hex() for value in values]
        elif kind == "float_list":
            values = [number(value) for value in values]
        found[key] = {"kind": kind, "values": list(values)}
    return found


def write(path):
    feature = {
        "ints": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[-1, 0, 2**31, 2**63 - 1, -(2**63)])),
        "floats": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5, -0.0])),
        "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=["한".encode(), b""])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    for suffix, compression in (("", None), (".gzip", "GZIP"), (".zlib", "ZLIB")):
        options = tf.io.TFRecordOptions(compression_type=compression) if compression else None
        with tf.io.TFRecordWriter(path + suffix, options) as writer:
            for _ in range(3):
                writer.write(example.SerializeToString())


def records(name):
    return tf.data.TFRecordDataset(os.path.join(folder, name))


folder = sys.argv[1]
write(os.path.join(folder, "theirs"))
spec = {key: tf.io.FixedLenFeature([64], tf.int64)
        for key in ("input_ids", "input_mask", "segment_ids")}
parsed = records("pretrain").map(lambda record: tf.io.parse_single_example(record, spec))
print("RESULT " + json.dumps({
    "raw": [record.numpy().hex() for record in records("raw")],
    "pretrain": [{key: value.numpy().tolist() for key, value in record.items()}
                 for record in parsed],
    "all": [features(record.numpy()) for record in records("all")],
}))
